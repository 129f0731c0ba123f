import { createHash, type Hash } from 'node:crypto';
import type { ReadCall } from '../collections/read-call.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { Turns } from '../kernel/turns.ts';
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
 * The newest traces as they are stored, with a warning wherever one may hold a secret. Throws `validation_failed` if
 * a trace has a warning and the request refuses warnings, and `limit_exceeded` if the traces are too large for one answer.
 */
export async function exportTraces(
  parts: TraceParts,
  space: string,
  { operation, limit, failOnUnsafeContent }: TraceExportRequest,
  call?: ReadCall,
): Promise<{ readonly bundle: TraceExport; readonly hasMore: boolean }> {
  const { traces, leftOut } = await listTraces(parts, space, { operation, limit }, call);
  if (leftOut === 'size')
    throw invalidMember('/limit', `must be at most ${traces.length} for these traces`, 'limit_exceeded');
  const turns = parts.world.turns.of(space);
  const warnings = await warningsOf(traces, turns);
  if (failOnUnsafeContent && warnings.length > 0)
    throw invalidMember('/failOnUnsafeContent', `${warnings.length} places may hold secrets`);
  const counts = { traceCount: traces.length, warningCount: warnings.length };
  const content = { formatVersion: FORMAT_VERSION, operation, limit, ...counts, warnings, traces };
  const contentHash = await hashOf(content, turns);
  const bundle = { ...content, exportedAt: formatUtc(parts.world.clock.now()), contentHash };
  return { bundle, hasMore: leftOut !== null };
}

async function warningsOf(traces: readonly Trace[], turns: Turns): Promise<readonly TraceWarning[]> {
  const warnings: TraceWarning[] = [];
  for (const trace of traces) {
    warnings.push(...traceWarnings(trace));
    if (warnings.length > WARNINGS_MAX)
      throw invalidMember(
        '/limit',
        `must be smaller: more than ${WARNINGS_MAX} places may hold secrets`,
        'limit_exceeded',
      );
    if (turns.due()) await turns.next();
  }
  return warnings;
}

/**
 * The hash of `sha256(canonicalJson(content))`, item by item: an export may have many megabytes.
 * @testonly
 */
export async function hashOf(
  { warnings, traces, ...heads }: Omit<TraceExport, 'exportedAt' | 'contentHash'>,
  turns: Turns,
): Promise<string> {
  const hash = createHash('sha256');
  const members = { ...heads, warnings, traces };
  let between = '{';
  for (const name of Object.keys(members).sort() as (keyof typeof members)[]) {
    hash.update(`${between}${canonicalJson(name)}:`);
    between = ',';
    const value: unknown = members[name];
    if (Array.isArray(value)) await addItems(hash, value, turns);
    else hash.update(canonicalJson(value));
  }
  return `sha256:${hash.update('}').digest('hex')}`;
}

async function addItems(hash: Hash, items: readonly unknown[], turns: Turns): Promise<void> {
  hash.update('[');
  for (const [at, item] of items.entries()) {
    hash.update(`${at === 0 ? '' : ','}${canonicalJson(item)}`);
    if (turns.due()) await turns.next();
  }
  hash.update(']');
}
