import { isJsonObject } from '../../kernel/json-kinds.ts';
import { type McpCall, progressTokenOf, type RequestMeta } from '../envelope.ts';
import { invalidParams } from '../errors.ts';
import type { Round } from '../request-state.ts';

/** Requests of older revisions. They declare no capabilities, and the server asks their clients nothing. */

export const noRound: Round = { inputResponses: {}, requestState: null };

export function readOlderMeta({ params }: McpCall, rawHeaders: readonly string[]): RequestMeta {
  const { _meta: meta = {} } = params;
  if (!isJsonObject(meta)) throw invalidParams('Invalid params: _meta is not an object');
  const progressToken = progressTokenOf(meta);
  // A client that accepts no stream gets its answer as JSON, and no progress.
  return { capabilities: {}, progressToken: acceptsEvents(rawHeaders) ? progressToken : undefined };
}

/** Whether the fields `Accept` allow an event stream, as a request without the field does (RFC 9110 section 12.5.1). */
function acceptsEvents(rawHeaders: readonly string[]): boolean {
  const accepted = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'accept',
  );
  return accepted.length === 0 || accepted.some((field) => field.split(',').some(isEventRange));
}

function isEventRange(range: string): boolean {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  return ['text/event-stream', 'text/*', '*/*'].includes(type) && !isRefused;
}
