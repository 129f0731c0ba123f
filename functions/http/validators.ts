import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import { ContractViolationError } from './answer.ts';
import type { CallOptions, GroupValidators } from './options.ts';

/** The generated validators by operation; the first call of a group loads them. */
export interface Validators {
  /** The check of the operation's request model; `undefined` for an operation without one. */
  request(entry: OperationEntry): Promise<Validator | undefined>;
  /** The check of one answer's model; `undefined` when the contract names no model. */
  response(entry: OperationEntry, status: number): Promise<Validator | undefined>;
}

export function createValidators(loaders: CallOptions['validators']): Validators {
  const loaded = new Map<string, Promise<GroupValidators>>();
  const ofGroup = async (group: string): Promise<GroupValidators | undefined> => {
    const load = loaders[group];
    if (!load) return undefined;
    const validators = loaded.get(group) ?? load();
    loaded.set(group, validators);
    return validators;
  };
  return {
    async request(entry) {
      if (entry.requestSchema === null) return undefined;
      const validator = (await ofGroup(entry.group))?.requestValidators[entry.id];
      // An unchecked body must never reach a handler.
      if (!validator) throw new ContractViolationError(entry.id, 'no validator');
      return validator;
    },
    async response(entry, status) {
      return (await ofGroup(entry.group))?.responseValidators[`${entry.id}:${status}`];
    },
  };
}
