import type { Json } from '../kernel/canonical-json.ts';

/** What a run keeps outside its process, so that another worker can go on with it. */
export interface RunMemory {
  readonly read: (key: string) => Promise<Json | null>;
  readonly write: (key: string, value: Json) => Promise<void>;
}
