import type { JsonObject } from '../kernel/canonical-json.ts';

/** The `status` of a trace whose operation has succeeded. All operations use it, because summaries count them together. */
export const TRACED_SUCCESS = 'Succeeded';

/** The stored record of one operation. */
export interface Trace {
  readonly id: string;
  /** Such as `retrieval.search`. */
  readonly operation: string;
  readonly adapter: string | null;
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
}
