/** The form of each line of the log, which no input of a caller may break. */

const fields: Readonly<Record<string, 'string' | 'number' | 'boolean'>> = {
  time: 'string',
  severity: 'string',
  message: 'string',
  operation: 'string',
  method: 'string',
  status: 'number',
  code: 'string',
  durationMs: 'number',
  count: 'number',
  correlationId: 'string',
  'logging.googleapis.com/trace': 'string',
  'logging.googleapis.com/spanId': 'string',
  'logging.googleapis.com/trace_sampled': 'boolean',
  trace_id: 'string',
  span_id: 'string',
  trace_flags: 'string',
  principal: 'string',
  sourceAddress: 'string',
  right: 'string',
  tenantId: 'string',
  topic: 'string',
  eventId: 'string',
  runId: 'string',
  handlerId: 'string',
  failureClass: 'string',
  nextTryAt: 'string',
  patienceEndsAt: 'string',
  failure: 'string',
};
const severities = new Set(['DEBUG', 'INFO', 'WARNING', 'ERROR']);
const bytesMax = 8 * 1024;
// Line ends of all kinds, controls, terminal escapes, and what reverses or hides the text around it.
const dangerous = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** Why the line is not one sound line of ours, or `null`. */
export function lineFault(line: string): string | null {
  if (Buffer.byteLength(line) > bytesMax) return 'is too long';
  if (dangerous.test(line)) return 'holds a control character';
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return 'is no JSON';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'is no object';
  for (const [name, value] of Object.entries(parsed as Record<string, unknown>)) {
    if (!Object.hasOwn(fields, name)) return `has the member ${name}`;
    if (typeof value !== fields[name]) return `has a ${name} of another type`;
    if (typeof value === 'string' && line.split(`"${name}":`).length > 2) return `has ${name} twice`;
  }
  const { severity, message } = parsed as { severity?: string; message?: string };
  if (!severities.has(severity ?? '')) return 'has a severity that is none';
  return message === 'a request was answered' || message === 'a request failed'
    ? null
    : 'says what we do not say';
}
