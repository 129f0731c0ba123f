import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as AgentTls, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { OutgoingHttp } from '../../kernel/world.ts';
import { guardedLookup, isRefusedAddress, RefusedAddress } from './addresses.ts';

export interface GuardedHttpOptions {
  readonly lookup: LookupFunction;
  /** Hosts that the settings name by their IP address: also a refused one is then called. */
  readonly namedHosts: ReadonlySet<string>;
}

const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Outgoing HTTP that judges each address before it connects to it. Follows no redirect and decodes no content. The body of a
 * request is a text.
 */
export function guardedHttp({ lookup, namedHosts }: GuardedHttpOptions): OutgoingHttp {
  const own = { lookup: guardedLookup(lookup), keepAlive: true };
  // The addresses of other code's connections were not checked, so no connection is shared with it.
  const agents = { 'http:': new Agent(own), 'https:': new AgentTls(own) } as const;
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !namedHosts.has(host) && isRefusedAddress(host))
        return reject(new RefusedAddress());
      const { protocol } = url;
      if (protocol !== 'http:' && protocol !== 'https:') return reject(new TypeError('not an HTTP address'));
      const options = {
        agent: agents[protocol],
        method: init.method ?? 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(init.signal === undefined || init.signal === null ? {} : { signal: init.signal }),
      };
      const outgoing = (protocol === 'https:' ? requestHttps : requestHttp)(url, options, (message) => {
        // No caller catches errors thrown here.
        try {
          resolve(responseOf(message));
        } catch (error) {
          message.destroy();
          reject(error);
        }
      });
      outgoing.once('error', reject);
      // A change of protocols was not asked for.
      outgoing.once('upgrade', (_, socket) => {
        socket.destroy();
        reject(new TypeError('the server changes the protocol'));
      });
      outgoing.end(typeof init.body === 'string' ? init.body : undefined);
    });
}

/** Throws when the status or a field is invalid in HTTP. */
function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  if (BODYLESS.has(status)) message.resume();
  const body = BODYLESS.has(status) ? null : (Readable.toWeb(message) as ReadableStream);
  return new Response(body, { status, headers });
}
