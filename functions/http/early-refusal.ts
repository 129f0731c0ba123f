import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { targetOf } from './bridge.ts';
import { endsConnection } from './connection-line.ts';
import type { Chain } from './message.ts';

// The bytes of an unread body that Node discards itself.
const unreadBytesMax = 8 * 1024;

/** Answers at once when the chain refuses a request by its head. Returns whether it did. */
export function createEarlyRefusal(
  { refuseEarly }: Chain,
  draining: AbortSignal,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (refuseEarly === undefined) return () => false;
  /** Connections whose client has not read the last refusal. */
  const unfinished = new WeakSet<Socket>();
  return (request, response) => {
    const { rawHeaders, socket } = request;
    // Answers that close their connection, or that a client does not take, go the usual way, which bounds them.
    if (draining.aborted || unfinished.has(socket)) return false;
    const refusal = refuseEarly({
      target: targetOf(request),
      rawHeaders,
      socketAddress: socket.remoteAddress ?? '',
      isSmall: () => isSmall(request),
    });
    if (refusal === null) return false;
    unfinished.add(socket);
    response.once('finish', () => unfinished.delete(socket));
    // A problem document is a text in ASCII: head and body leave in one write.
    const body = refusal.body as string;
    response.on('error', () => {});
    response.writeHead(refusal.status, [...refusal.headers.flat(), 'Content-Length', String(body.length)]);
    response.end(body, 'latin1');
    return true;
  };
}

function isSmall(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    !endsConnection(request) &&
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined &&
    Number(headers['content-length'] ?? 0) <= unreadBytesMax
  );
}
