import type { Json } from '../kernel/canonical-json.ts';
import type { RunMemory } from './run-memory.ts';

/** Holds the memory of a run. */
export class Memory implements RunMemory {
  readonly kept = new Map<string, Json>();
  readonly read = (key: string) => Promise.resolve(this.kept.get(key) ?? null);
  readonly write = (key: string, value: Json) => {
    this.kept.set(key, value);
    return Promise.resolve();
  };
}

/** A process that dies between each answer and its checkpoint. */
export function dyingBehindAnswers(memory: RunMemory): RunMemory {
  return {
    read: (key) => memory.read(key),
    write: (key, value) =>
      key === 'response' ? Promise.reject(new Error('died')) : memory.write(key, value),
  };
}
