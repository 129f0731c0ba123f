import type { OperationEntry } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import type { SchemaSet } from './schema-set.ts';

/** Something to attack: operations, their models, and a way to call them. */
export interface Target {
  readonly set: SchemaSet;
  readonly entries: readonly OperationEntry[];
  readonly call: (request: InjectedRequest) => Promise<InjectedResponse>;
}
