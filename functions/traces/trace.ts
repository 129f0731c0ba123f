import type { JsonObject } from '../kernel/canonical-json.ts';

/** The `status` of a trace whose operation has succeeded. Summaries count statuses of all operations together, so all say it so. */
export const TRACED_SUCCESS = 'Succeeded';

/** What an operation leaves behind of itself. */
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
