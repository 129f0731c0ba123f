import { parseJson } from '../../../functions/kernel/json-text.ts';

/** One line of a client, read as far as its forwarding needs. The service judges the rest. */

export type Members = Readonly<Record<string, unknown>>;
export type MessageId = string | number;

export interface ForwardedMessage {
  /** `null`: a notification, which has no answer. */
  readonly id: MessageId | null;
  readonly method: string;
  readonly params: Members;
  /** The bytes as the client wrote them: numbers stay as they are. */
  readonly bytes: Buffer;
}

export type ReadLine =
  | { readonly kind: 'message'; readonly message: ForwardedMessage }
  /** An answer of the client. The service asks nothing, so there is no question to it. */
  | { readonly kind: 'answer' }
  | { readonly kind: 'fault'; readonly line: string };

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function readLine(bytes: Buffer | 'too-long', bytesMax: number): ReadLine {
  if (bytes === 'too-long')
    return fault(-32_600, `The message is larger than the ${bytesMax.toLocaleString('en')} bytes of a line.`);
  let value: unknown;
  try {
    value = parseJson(utf8.decode(bytes));
  } catch {
    return fault(-32_700, 'The line is not JSON. Each message stands on a line of its own.');
  }
  if (Array.isArray(value))
    return fault(-32_600, 'Batches are not served. Send each message on a line of its own.');
  if (!isMembers(value)) return fault(-32_600, 'The line is no message of JSON-RPC 2.0.');
  const { id, method, params } = value;
  const isId = typeof id === 'string' || typeof id === 'number';
  const known = isId ? id : null;
  if (value['jsonrpc'] !== '2.0') return fault(-32_600, 'The line is no message of JSON-RPC 2.0.', known);
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'answer' };
  if (typeof method !== 'string') return fault(-32_600, 'The method is missing.', known);
  if (id !== undefined && !isId) return fault(-32_600, 'The id must be a text or a number.');
  const given = isMembers(params) ? params : {};
  return { kind: 'message', message: { id: known, method, params: given, bytes } };
}

/** The line of an error. Without an id the client cannot match it, and the revisions leave the member out. */
export function errorLine(id: MessageId | null, code: number, message: string, data?: Members): string {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return JSON.stringify({ jsonrpc: '2.0', ...(id === null ? {} : { id }), error });
}

function fault(code: number, message: string, id: MessageId | null = null): ReadLine {
  return { kind: 'fault', line: errorLine(id, code, message) };
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
