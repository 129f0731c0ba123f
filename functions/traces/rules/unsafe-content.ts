import type { Json } from '../../kernel/canonical-json.ts';
import { pointerTo } from '../../kernel/errors.ts';
import type { Trace } from '../trace.ts';

export interface TraceWarning {
  readonly traceId: string;
  /** A JSON Pointer into the trace. */
  readonly location: string;
  readonly reason: 'sensitive_field_name' | 'bearer_token_value';
}

const sensitiveNames: ReadonlySet<string> = new Set([
  'apikey',
  'xapikey',
  'authorization',
  'password',
  'passwd',
  'secret',
  'clientsecret',
  'accesstoken',
  'refreshtoken',
  'privatekey',
  'credential',
  'credentials',
  'token',
  'authtoken',
]);

const bearerToken = /\bbearer +\S/i;

/** Where a trace may hold a secret: a member with the name of one, or a text with a bearer token. */
export function traceWarnings({ id, request, resultSummary }: Trace): readonly TraceWarning[] {
  return [...findings(request, '/request'), ...findings(resultSummary, '/resultSummary')].map(
    ([location, reason]) => ({ traceId: id, location, reason }),
  );
}

type Finding = readonly [location: string, reason: TraceWarning['reason']];

/** A stored trace has a bounded depth. */
function* findings(value: Json, at: string): Generator<Finding> {
  if (typeof value === 'string' && bearerToken.test(value)) yield [at, 'bearer_token_value'];
  if (value === null || typeof value !== 'object') return;
  for (const [name, member] of Object.entries<Json>(value)) {
    const location = pointerTo(at, name);
    const hasNames = !Array.isArray(value);
    if (hasNames && sensitiveNames.has(plainName(name))) yield [location, 'sensitive_field_name'];
    yield* findings(member, location);
  }
}

function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
