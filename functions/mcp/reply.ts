import { ByteStream, type RawResponse } from '../http/message.ts';
import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import type { McpReply } from './protocol.ts';
import { WrittenItems } from './written-items.ts';

/** Writes a reply as one JSON object, or as an event stream that ends with the response. */
export function writeReply(reply: McpReply): RawResponse {
  const { status } = reply;
  if ('messages' in reply) {
    const { messages } = reply;
    const headers = [
      ['Content-Type', 'text/event-stream'],
      ['Cache-Control', 'no-cache'],
      // A proxy that buffers the stream would delay its notifications.
      ['X-Accel-Buffering', 'no'],
    ] as const;
    return { status, headers, body: new ByteStream(null, () => eventsOf(messages)), close: false };
  }
  const headers: (readonly [string, string])[] = [['Cache-Control', 'no-store']];
  if (reply.message === null) return { status, headers, body: null, close: false };
  if (reply.retryAfterSeconds !== undefined) headers.push(['Retry-After', String(reply.retryAfterSeconds)]);
  headers.push(['Content-Type', 'application/json']);
  return { status, headers, body: bodyOf(reply.message), close: false };
}

/** The JSON text of a message, whose result is its last member. */
function bodyOf(message: JsonMembers): string | Uint8Array {
  const { result, ...head } = message;
  if (!isJsonObject(result)) return JSON.stringify(message);
  const list = Object.entries(result).find(([, value]) => value instanceof WrittenItems);
  if (list === undefined) return JSON.stringify(message);
  const [name, items] = list as [string, WrittenItems];
  const rest = JSON.stringify({ ...head, result: { ...result, [name]: undefined } });
  // Insert the list as the last member of the result.
  const before = Buffer.from(`${rest.slice(0, -'}}'.length)},${JSON.stringify(name)}:`);
  return Buffer.concat([before, ...items.bytes(), Buffer.from('}}')]);
}

/** One event for each message. The JSON has no line feeds, so each event is one line of data. */
async function* eventsOf(messages: AsyncIterable<JsonMembers>): AsyncGenerator<Uint8Array> {
  for await (const message of messages)
    yield Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
