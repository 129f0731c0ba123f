import type { ReadCall } from '../collections/read-call.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { TraceParts } from './parts.ts';
import { listTraces } from './read-traces.ts';
import { type TraceWarning, traceWarnings } from './rules/unsafe-content.ts';
import type { Trace } from './trace.ts';

/** Warnings of one export: a trace may have thousands. */
const WARNINGS_MAX = 10_000;
const FORMAT_VERSION = 'svc.trace-export.v1';

export interface TraceExport {
  readonly formatVersion: string;
  readonly exportedAt: string;
  readonly operation: string | null;
  readonly limit: number;
  readonly traceCount: number;
  readonly warningCount: number;
  /** SHA-256 of the canonical JSON of all other members but `exportedAt`. */
  readonly contentHash: string;
  readonly warnings: readonly TraceWarning[];
  readonly traces: readonly Trace[];
}

export interface TraceExportRequest {
  readonly operation: string | null;
  readonly limit: number;
  readonly failOnUnsafeContent: boolean;
}

/**
 * The newest traces as they are stored, with a warning wherever one may hold a secret. Throws `validation_failed` where
 * there is a warning and the request wants none, and `limit_exceeded` where they are too large for one answer.
 */
export async function exportTraces(
  parts: TraceParts,
  space: string,
  { operation, limit, failOnUnsafeContent }: TraceExportRequest,
  call?: ReadCall,
): Promise<TraceExport> {
  const { traces, isCut } = await listTraces(parts, space, { operation, limit }, call);
  if (isCut)
    throw invalidMember('/limit', `must be at most ${traces.length} for these traces`, 'limit_exceeded');
  const warnings = traces.flatMap(traceWarnings);
  if (warnings.length > WARNINGS_MAX)
    throw invalidMember(
      '/limit',
      `must be smaller: ${warnings.length} places may hold secrets`,
      'limit_exceeded',
    );
  if (failOnUnsafeContent && warnings.length > 0)
    throw invalidMember('/failOnUnsafeContent', `${warnings.length} places may hold secrets`);
  const counts = { traceCount: traces.length, warningCount: warnings.length };
  const content = { formatVersion: FORMAT_VERSION, operation, limit, ...counts, warnings, traces };
  const contentHash = sha256(canonicalJson(content));
  return { ...content, exportedAt: formatUtc(parts.world.clock.now()), contentHash };
}
