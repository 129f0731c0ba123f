import type { OperationEntry } from '../../contracts/operation.ts';
import type { GroupValidators, HandlerMap } from '../http/options.ts';
import type { JobPlugin } from '../jobs/job-plugin.ts';
import type { Lazy } from '../kernel/lazy.ts';
import type { Upkeep } from '../runs/maintenance/automatic-upkeep.ts';
import type { OwnedCollection } from '../store/ownership.ts';
import type { Execution } from './execution.ts';
import type { LayerParts } from './layer.ts';

/** The shared parts of one process, from which a group is put together. */
export interface GroupParts extends LayerParts {
  /** The execution runtime; composed when the first group asks for it. */
  readonly execution: Lazy<Execution>;
}

export interface LoadedGroup {
  readonly handlers: HandlerMap;
  /** Entries that the group serves beside those of the contract, such as the docs page. */
  readonly extra: readonly OperationEntry[];
  /** The largest body of an operation, by operation, where a setting bounds it below the contract. */
  readonly bodyLimits?: Readonly<Record<string, BodyLimit>>;
}

export interface BodyLimit {
  readonly bytes: number;
  /** The setting of this bound, such as `Records:ImportPayloadBytesMax`. Refusals name it. */
  readonly setting: string;
}

/** One file of `groups/`: how the group is put together. It imports the code of the group only in `load`. */
export interface GroupModule {
  /** Budget of the build: JavaScript bytes that a function of this group reads beyond the common start. */
  readonly bytesMax: number;
  /** The record collections of the group with their owners, so that every provider and every copy knows them. */
  collections?(): Promise<readonly OwnedCollection[]>;
  /** The durable work of the group. Handlers import their code when they run. */
  jobs?(parts: GroupParts): Promise<readonly JobPlugin[]>;
  /** Work without a caller, beside that of its jobs: embedded servers and the scheduled functions call it. */
  upkeep?(parts: GroupParts): Promise<Upkeep>;
  load(parts: GroupParts): Promise<LoadedGroup>;
}

/** A group with its part of the contract. Tests add groups of this shape that the published catalog does not have. */
export interface ComposedGroup {
  readonly name: string;
  readonly operations: () => Promise<Readonly<Record<string, OperationEntry>>>;
  readonly validators: () => Promise<GroupValidators>;
  readonly module: () => Promise<GroupModule>;
}
