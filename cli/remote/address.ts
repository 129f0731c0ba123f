import { isLoopbackHost } from '../../functions/http/loopback-host.ts';
import { exitCodes, ToolError } from '../output.ts';

/** The default address of the embedded server. */
export const localServer = 'http://127.0.0.1:5220';

/**
 * Parses the address of a service. The error does not quote it: it may hold a password. A path is kept, for services
 * behind a gateway's path prefix.
 */
export function serverAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw refused('is no address such as https://svc.example.com');
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('holds a user or a password: a credential has options of its own');
  }
  if (url.search !== '' || url.hash !== '') throw refused('holds more than host, port and path');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** Whether others can read the traffic: plain HTTP to another machine. */
export function isReadableOnTheWay(server: URL): boolean {
  return server.protocol === 'http:' && !isLoopbackHost(server.hostname);
}

/** Path and query of a request line: the server's own path, then that of the operation. */
export function targetOf(server: URL, path: string): string {
  return `${server.pathname === '/' ? '' : server.pathname}${path}`;
}

/** For people: without the slash at the end. */
export function addressText(server: URL): string {
  return server.href.replace(/\/$/, '');
}

function refused(why: string): ToolError {
  return new ToolError(`The server's address (--server, SVC_SERVER) ${why}.`, exitCodes.usage);
}
