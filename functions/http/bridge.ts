import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from 'node:http';

/**
 * functions-framework parses and inflates bodies of up to a gigabyte, and decodes paths, before a function is called. This
 * bridge hides both from it: the framing fields leave the parsed view of the headers, so that no parser touches the
 * stream, and the target becomes `/`, so that no router decodes it. Node has decided the framing by then, and the fields
 * as sent stay in `rawHeaders`.
 *
 * Only servers of an Express application are touched; a plain `node:http` server needs no bridge.
 */

const rawTarget = Symbol.for('svc.rawTarget');
const hidden = ['content-length', 'transfer-encoding', 'content-encoding', 'expect'];

let installed = false;

export interface BridgeListeners {
  /** Called with each such server before it listens. */
  readonly onServer: (server: Server) => void;
  /** Called with each request before any code of the framework runs. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
}

export function installRawBridge({ onServer, onRequest }: BridgeListeners): void {
  if (installed) throw new Error('the raw bridge is installed already');
  installed = true;
  subscribe('http.server.request.start', (message) => {
    const { request, response, server } = message as RequestStart;
    if (!isExpressServer(server)) return;
    hide(request);
    onRequest(request, response);
  });
  subscribe('tracing:net.server.listen:asyncStart', (message) => {
    const { server } = message as { server: unknown };
    if (server instanceof Server && isExpressServer(server)) onServer(server);
  });
}

/** The target of the request as it was sent, whether or not the bridge hid it. */
export function targetOf(request: IncomingMessage): string {
  return (request as BridgedRequest)[rawTarget] ?? request.url ?? '';
}

interface RequestStart {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly server: Server;
}

interface BridgedRequest extends IncomingMessage {
  [rawTarget]?: string;
}

function hide(request: BridgedRequest): void {
  request[rawTarget] = request.url ?? '';
  request.url = '/';
  // Hide `expect` too: Node would send `100 Continue` itself, and then the client would send a body that the chain may
  // refuse.
  for (const name of hidden) delete request.headers[name];
}

function isExpressServer(server: Server): boolean {
  return server.listeners('request').some((listener) => 'handle' in listener && 'settings' in listener);
}
