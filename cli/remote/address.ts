import { isLoopbackHost } from '../../functions/http/loopback-host.ts';
import { exitCodes, ToolError } from '../output.ts';

/** Where the embedded server listens unless it is told otherwise. */
export const localServer = 'http://127.0.0.1:5220';

/**
 * The address of a service. What is refused is not quoted: it may hold a password. A path is kept, for services that a
 * gateway serves below one.
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

/** Whether what is sent there can be read on the way: plain HTTP, and not to this machine itself. */
export function isReadableOnTheWay(server: URL): boolean {
  return server.protocol === 'http:' && !isLoopbackHost(server.hostname);
}

/** Path and query of a request line: the server's own path before that of the operation. */
export function targetOf(server: URL, path: string): string {
  return `${server.pathname === '/' ? '' : server.pathname}${path}`;
}

/** For a person: no slash at the end. */
export function addressText(server: URL): string {
  return server.href.replace(/\/$/, '');
}

function refused(why: string): ToolError {
  return new ToolError(`The server's address (--server, SVC_SERVER) ${why}.`, exitCodes.usage);
}
