import type { Json } from '../kernel/canonical-json.ts';
import type { RunMemory } from './run-memory.ts';

/** Holds what a run keeps. */
export class Memory implements RunMemory {
  readonly kept = new Map<string, Json>();
  readonly read = (key: string) => Promise.resolve(this.kept.get(key) ?? null);
  readonly write = (key: string, value: Json) => {
    this.kept.set(key, value);
    return Promise.resolve();
  };
}
