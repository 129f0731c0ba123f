import type { TraceContext } from '../kernel/log.ts';

// W3C Trace Context: zero ids, capitals and the version ff are faults; only versions behind 00 may hold more.
const form =
  /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:$|-[^,]*$)/;

/** The trace that `traceparent` names; a faulty field counts as none. A repeated field is given as a list. */
export function traceOf(sent: unknown): TraceContext | undefined {
  const [, traceId, spanId, flags] = (typeof sent === 'string' && form.exec(sent)) || [];
  return traceId && spanId && flags ? { traceId, spanId, flags } : undefined;
}

/** The trace of a request, of which the header fields stand in turn: name, value. */
export function sentTrace({
  rawHeaders,
}: {
  readonly rawHeaders: readonly string[];
}): TraceContext | undefined {
  const sent = rawHeaders.filter(
    (_, at) => at % 2 > 0 && rawHeaders[at - 1]?.toLowerCase() === 'traceparent',
  );
  return traceOf(sent.join());
}
