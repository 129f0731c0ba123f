import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';

/**
 * One request to a target. `fetch` does not fit: it waits at most five minutes for an answer and adds header fields.
 */
export type TargetHttp = (call: TargetCall) => Promise<TargetAnswer>;

/** @testonly */
export interface TargetCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly signal: AbortSignal;
}

export interface TargetAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
}

/** Every accepted name means this machine, so no name server is asked. */
const loopbackLookup: LookupFunction = (_name, options, callback) => {
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ].filter(({ family }) => !options.family || options.family === family);
  const [first] = addresses;
  if (options.all === true || first === undefined) callback(null, addresses);
  else callback(null, first.address, first.family);
};

/** Follows no redirect, which could lead off this machine. Each request has a connection of its own. */
export const sendToTarget: TargetHttp = ({ url, method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const send = url.slice(0, 6).toLowerCase() === 'https:' ? requestHttps : requestHttp;
    const outgoing = send(url, {
      method,
      headers: { ...headers, ...lengthOf(method, body) },
      agent: false,
      lookup: loopbackLookup,
      signal,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      answer.once('error', reject);
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] ?? null });
      });
      answer.resume();
    });
    outgoing.end(body ?? undefined);
  });

function lengthOf(method: string, body: Uint8Array | null): Record<string, string> {
  if (body !== null) return { 'content-length': String(body.byteLength) };
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' };
}
