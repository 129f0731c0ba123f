import { ByteStream, type RawResponse } from '../http/message.ts';
import type { JsonMembers } from '../identity/oidc/json-object.ts';
import type { McpReply } from './protocol.ts';

/** Writes a reply as one JSON object, or as an event stream that ends with the response. */
export function writeReply(reply: McpReply): RawResponse {
  const { status } = reply;
  if ('messages' in reply) {
    const { messages } = reply;
    const headers = [
      ['Content-Type', 'text/event-stream'],
      ['Cache-Control', 'no-cache'],
      // A proxy that collects the stream would make its notifications worthless.
      ['X-Accel-Buffering', 'no'],
    ] as const;
    return { status, headers, body: new ByteStream(null, () => eventsOf(messages)), close: false };
  }
  const headers: (readonly [string, string])[] = [['Cache-Control', 'no-store']];
  if (reply.message === null) return { status, headers, body: null, close: false };
  headers.push(['Content-Type', 'application/json']);
  return { status, headers, body: JSON.stringify(reply.message), close: false };
}

/** One event a message. JSON has no line ends, so each is one line of data. */
async function* eventsOf(messages: AsyncIterable<JsonMembers>): AsyncGenerator<Uint8Array> {
  for await (const message of messages)
    yield Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
