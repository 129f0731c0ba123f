import type { Json } from '../kernel/canonical-json.ts';

/** The state of a run outside its process, so that another worker can resume it. */
export interface RunMemory {
  readonly read: (key: string) => Promise<Json | null>;
  readonly write: (key: string, value: Json) => Promise<void>;
}
