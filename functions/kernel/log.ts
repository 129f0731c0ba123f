/**
 * Structured log lines as Cloud Logging reads them: one JSON object a line. Only the fields listed here can be written, so
 * that a token, a body or a header cannot end up in a log by accident.
 */

import { legible } from './legible.ts';
import { formatUtc } from './timestamp.ts';
import type { Clock } from './world.ts';

export type Severity = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** The trace that a request belongs to, as its `traceparent` names it. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Two hexadecimal digits; the last bit says whether the trace is sampled. */
  readonly flags: string;
}

export interface LogEvent {
  readonly severity: Severity;
  /** A fixed text of the service, without values from a request. */
  readonly message: string;
  readonly operation?: string;
  readonly method?: string;
  readonly status?: number;
  /** The problem code of a refusal. */
  readonly code?: string;
  readonly durationMs?: number;
  /** The age of the oldest waiting item, in milliseconds. */
  readonly ageMs?: number;
  /** The number of items that the line reports. */
  readonly count?: number;
  readonly correlationId?: string;
  readonly trace?: TraceContext | undefined;
  /** The verified principal of the caller. */
  readonly principal?: string;
  /** The caller's address, as the rate limit counts it. */
  readonly sourceAddress?: string;
  /** The right that a refused caller lacks. */
  readonly right?: string;
  /** The tenant of the event; for a refusal, the tenant that the caller named. */
  readonly tenantId?: string;
  readonly topic?: string;
  readonly eventId?: string;
  /** The run of the event. */
  readonly runId?: string;
  /** The handler of that run. */
  readonly handlerId?: string;
  /** The failure class of that run, from its handler or the service. */
  readonly failureClass?: string;
  /** When a job calls its failed provider again, and when it gives up; RFC 3339. */
  readonly nextTryAt?: string;
  readonly patienceEndsAt?: string;
  /** The class and the stack frames of an unexpected error, without its message; or the reason that the store gave. */
  readonly failure?: string;
}

export type Log = (event: LogEvent) => void;

const fields = [
  'severity',
  'message',
  'operation',
  'method',
  'status',
  'code',
  'durationMs',
  'ageMs',
  'count',
  'correlationId',
  'principal',
  'sourceAddress',
  'right',
  'tenantId',
  'topic',
  'eventId',
  'runId',
  'handlerId',
  'failureClass',
  'nextTryAt',
  'patienceEndsAt',
  'failure',
] as const satisfies readonly Exclude<keyof LogEvent, 'trace'>[];

const textLengthMax = 1024;

/** `google`: the members by which Cloud Logging links a line to its trace; `otel`: those of OpenTelemetry. */
export type LogFormat = 'google' | 'otel';

const GOOGLE = 'logging.googleapis.com/';
const traceMembers: Readonly<Record<LogFormat, (trace: TraceContext) => object>> = {
  google: ({ traceId, spanId, flags }) => ({
    [`${GOOGLE}trace`]: traceId,
    [`${GOOGLE}spanId`]: spanId,
    [`${GOOGLE}trace_sampled`]: (Number(`0x${flags}`) & 1) > 0,
  }),
  otel: ({ traceId, spanId, flags }) => ({ trace_id: traceId, span_id: spanId, trace_flags: flags }),
};

/**
 * A log that hands each line, without its line end, to `write`. With a clock each line has its `time`, RFC 3339; `locate`
 * names the places of a failure by the sources instead of the bundle.
 */
export function createLog(
  write: (line: string) => void,
  clock?: Clock,
  locate: (failure: string) => string = (failure) => failure,
  format: LogFormat = 'otel',
): Log {
  return (event) => {
    const line: Record<string, string | number> = {};
    if (clock !== undefined) line.time = formatUtc(clock.now());
    for (const field of fields) {
      const value = field === 'failure' && event.failure ? locate(event.failure) : event[field];
      if (typeof value === 'number') line[field] = value;
      else if (typeof value === 'string')
        line[field] = withoutCredentials(value.slice(0, textLengthMax).toWellFormed(), field);
    }
    if (event.trace) Object.assign(line, traceMembers[format](event.trace));
    // JSON leaves these two separators unescaped, and some readers break lines at them.
    write(JSON.stringify(line).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029'));
  };
}

/**
 * Removes credentials that reach a field by mistake, such as in a correlation id. Works word by word: a pattern of a
 * whole token would search a hostile text again from every place in it.
 */
function withoutCredentials(text: string, field: string): string {
  // Callers choose the text of all other fields: encode characters that could reverse or hide the text around them.
  const shown = /^(?:failure|message)$/.test(field) ? text : text.replace(/\p{C}/gu, encodeURIComponent);
  return shown.replace(/[\w.~-]{20,}/g, (word) =>
    // A JSON Web Token is two encoded objects and a signature.
    word.includes('svc_live_') || (word.includes('eyJ') && word.includes('.eyJ')) ? '[redacted]' : word,
  );
}

/**
 * The text of an unexpected error for the log. Its message may quote a credential or stored data, so the log keeps only
 * the class, a code such as `ECONNREFUSED` and the stack frames.
 */
export function describeFailure(error: unknown): string {
  return legible(() => described(error), 'a thrown value that cannot be read');
}

function described(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const code =
    'code' in error && typeof error.code === 'string' && /^[A-Z0-9_]{1,48}$/.test(error.code)
      ? error.code
      : '';
  const stack = typeof error.stack === 'string' ? error.stack : '';
  // The message comes first and may itself hold lines that look like frames.
  const head = `${error.name}: ${error.message}`;
  const trace = stack.startsWith(head) ? stack.slice(head.length) : '';
  const frames = trace.split('\n').filter((line) => /^ {4}at /.test(line));
  return [
    [error.constructor.name, code].filter(Boolean).join(' '),
    ...frames.map((line) => line.trim()),
  ].join('\n');
}
