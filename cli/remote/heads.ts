import type { IncomingMessage } from 'node:http';
import type { RemoteRequest } from './exchange.ts';
import { printable } from './printable.ts';

/** Removes secrets from text that is printed besides the answer. */
export type Redact = (text: string) => string;

/** Replaces the given texts wherever they occur, also where a server repeats them. */
export function redactorOf(secrets: readonly string[]): Redact {
  // Longer ones first: one may be a part of another.
  const all = [...secrets].sort((left, right) => right.length - left.length);
  return (text) => all.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}

/** The request headers that are printed with values; values of other headers may be credentials. */
const shownHeaders = new Set([
  'host',
  'user-agent',
  'accept',
  'content-type',
  'idempotency-key',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
]);

export function requestHead(server: URL, request: RemoteRequest, target: string, redact: Redact): string[] {
  const shown = request.headers.map(([name, value]) => {
    return `> ${name}: ${shownHeaders.has(name.toLowerCase()) ? value : '[redacted]'}`;
  });
  const length = request.body === null ? [] : [`> Content-Length: ${request.body.length}`];
  return [`> ${request.method} ${target} HTTP/1.1`, `> Host: ${server.host}`, ...shown, ...length].map(
    (line) => printable(redact(line)),
  );
}

const hiddenHeaders = new Set(['set-cookie', 'authorization', 'authentication-info']);

export function answerHead(answer: IncomingMessage, redact: Redact): string[] {
  const lines = [`< HTTP/${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`];
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = answer.rawHeaders.slice(at, at + 2);
    lines.push(`< ${name}: ${hiddenHeaders.has(name.toLowerCase()) ? '[redacted]' : value}`);
  }
  return lines.map((line) => printable(redact(line)));
}
