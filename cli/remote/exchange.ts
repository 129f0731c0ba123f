import { lookup as lookUpName } from 'node:dns';
import { type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { BlockList, type LookupFunction } from 'node:net';
import { targetOf } from './address.ts';
import { failureOf } from './failure.ts';

/** One complete request. */
export interface RemoteRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
}

export interface ExchangeOptions {
  readonly server: URL;
  /** The longest time without a byte from the server. */
  readonly silenceMaxMs: number;
  /** Refuses a host name that resolves to another machine: the request is meant for this one only. */
  readonly thisMachineOnly: boolean;
  /** Ends the exchange, also while it waits for the answer. */
  readonly signal?: AbortSignal | undefined;
}

const connectMaxMs = 10_000;
// Larger bodies wait for `100 Continue`: the tool can then read a refusal instead of a broken pipe.
const askedFirstBytes = 64 * 1024;
const goOnMaxMs = 2_000;

/**
 * Sends the request once and resolves with the head of the answer; the caller reads the body. Redirects are not
 * followed. It uses node:http, because fetch changes paths, has its own time limit and wraps failure reasons.
 */
export function exchange(request: RemoteRequest, options: ExchangeOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { server, silenceMaxMs } = options;
    const outgoing = open(request, options);
    let cause: 'connect' | 'silence' | undefined;
    let answered = false;
    let connected = false;
    const end = (why: 'connect' | 'silence') => {
      cause ??= why;
      outgoing.destroy();
    };
    const connecting = setTimeout(() => end('connect'), Math.min(connectMaxMs, silenceMaxMs));
    outgoing.setTimeout(silenceMaxMs, () => end('silence'));
    outgoing.once('socket', (socket) => {
      const ready = server.protocol === 'https:' ? 'secureConnect' : 'connect';
      socket.once(ready, () => {
        connected = true;
        clearTimeout(connecting);
      });
    });
    outgoing.once('close', () => clearTimeout(connecting));
    outgoing.once('response', (answer) => {
      answered = true;
      // Mark a timeout, so that the reader of the body can report it.
      answer.once('error', (error) => Object.assign(error, { silent: cause === 'silence' }));
      resolve(answer);
    });
    outgoing.on('error', (error) => {
      if (!answered) reject(failureOf(error, { server, cause, sent: connected }));
    });
    write(outgoing, request.body, () => answered);
  });
}

function open({ method, path, headers, body }: RemoteRequest, options: ExchangeOptions): ClientRequest {
  const { server, thisMachineOnly, signal } = options;
  const fields = headers.flat();
  if (body !== null || method !== 'GET') fields.push('Content-Length', String(body?.length ?? 0));
  if (isAskedFirst(body)) fields.push('Expect', '100-continue');
  return (server.protocol === 'https:' ? requestTls : requestPlain)({
    method,
    // URL writes an IPv6 address in brackets, which a socket does not accept.
    host: server.hostname.replace(/^\[|\]$/g, ''),
    port: server.port === '' ? undefined : Number(server.port),
    path: targetOf(server, path),
    headers: ['Host', server.host, ...fields, 'Connection', 'close'],
    setDefaultHeaders: false,
    agent: false,
    ...(signal === undefined ? {} : { signal }),
    ...(thisMachineOnly ? { lookup: loopbackLookup(lookUpName) } : {}),
  });
}

function isAskedFirst(body: Buffer | null): body is Buffer {
  return body !== null && body.length > askedFirstBytes;
}

function write(outgoing: ClientRequest, body: Buffer | null, isAnswered: () => boolean): void {
  if (!isAskedFirst(body)) {
    outgoing.end(body ?? undefined);
    return;
  }
  // Some proxies never send `100 Continue`: then send the body anyway.
  const patience = setTimeout(send, goOnMaxMs);
  outgoing.once('continue', send);
  outgoing.once('response', () => clearTimeout(patience));
  outgoing.once('close', () => clearTimeout(patience));
  outgoing.flushHeaders();
  let sent = false;
  function send(): void {
    clearTimeout(patience);
    if (sent || isAnswered()) return;
    sent = true;
    outgoing.end(body);
  }
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/**
 * Resolves a name to its loopback addresses only; fails if it has none.
 * @testonly
 */
export function loopbackLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null || typeof found === 'string') return callback(error, []);
      const own = found.filter(({ address, family }) =>
        loopback.check(address, family === 6 ? 'ipv6' : 'ipv4'),
      );
      const [first] = own;
      if (first === undefined)
        callback(Object.assign(new Error('not this machine'), { code: 'NOT_THIS_MACHINE' }), []);
      else if (options.all === true) callback(null, own);
      else callback(null, first.address, first.family);
    });
  };
}
