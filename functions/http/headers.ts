import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';

/**
 * The limits of the header section of a request. They are checked on the fields as sent: Node's parsed view keeps the
 * first of two `Authorization` fields and joins others, and so hides the second.
 */

export interface HeaderLimits {
  readonly countMax: number;
  readonly bytesMax: number;
}

export const headerLimits: HeaderLimits = {
  countMax: limits.requestHeadersMax,
  bytesMax: limits.requestHeaderBytesMax,
};

/** The header fields of a request by lower-case name. */
export interface Headers {
  /** The value; several fields of one name joined by a comma, as RFC 9110 section 5.3 allows. */
  get(name: string): string | undefined;
  /** Whether the request holds several fields of the name, so that the value is a list. */
  repeats(name: string): boolean;
}

const single = new Set([
  'authorization',
  'x-serverless-authorization',
  'x-svc-api-key',
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'idempotency-key',
  'x-idempotency-key',
  'expect',
  'origin',
]);

/**
 * Reads the fields. Refuses too many or too large ones, a repeated field that decides identity or framing, and a coding
 * that the server would have to undo. `alsoSingle` names further fields that may occur once, such as a configured API key header.
 */
export function readHeaders(
  rawHeaders: readonly string[],
  most: HeaderLimits = headerLimits,
  alsoSingle: readonly string[] = [],
): Headers {
  checkHeaderLimits(rawHeaders, most);
  const fields = new Map<string, string>();
  const repeats = new Set<string>();
  let repeated: string | null = null;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const value = rawHeaders[at + 1] ?? '';
    const before = fields.get(name);
    if (before === undefined) fields.set(name, value);
    else if (single.has(name) || name.startsWith('mcp-') || alsoSingle.includes(name)) repeated ??= name;
    else {
      fields.set(name, `${before}, ${value}`);
      repeats.add(name);
    }
  }
  // The refusal names known headers only, never a name that the caller chose.
  if (repeated !== null)
    throw new ServiceError('malformed_request', `The header ${repeated} occurs more than once.`);
  refuseCodings(fields);
  return { get: (name) => fields.get(name), repeats: (name) => repeats.has(name) };
}

/** Refuses too many or too large fields. */
export function checkHeaderLimits(rawHeaders: readonly string[], { countMax, bytesMax }: HeaderLimits): void {
  if (rawHeaders.length / 2 > countMax) {
    throw new ServiceError('headers_too_large', `The request has more than ${countMax} header fields.`);
  }
  // Node hands fields on as Latin-1, so a character is a byte. Beside name and value are the colon, the space and the line end.
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (bytes > bytesMax) {
    throw new ServiceError('headers_too_large', `The header fields take more than ${bytesMax} bytes.`);
  }
}

/** HTTP/1.0 has no transfer codings: a proxy may find another end of the message (RFC 9112 section 6.1). */
export function isFaultilyFramed({ httpVersion, rawHeaders }: Framed): boolean {
  if (httpVersion !== '1.0') return false;
  return rawHeaders.some((text, at) => at % 2 === 0 && text.toLowerCase() === 'transfer-encoding');
}

export function refuseFaultyFraming(request: Framed): void {
  if (isFaultilyFramed(request))
    throw new ServiceError('malformed_request', 'HTTP/1.0 has no Transfer-Encoding.');
}

interface Framed {
  readonly httpVersion: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** The framing of the body. */
export interface Framing {
  /** The declared length, or `null` for a chunked body. */
  readonly length: number | null;
}

export function framingOf(headers: Headers): Framing {
  if (headers.get('transfer-encoding') !== undefined) return { length: null };
  const declared = headers.get('content-length');
  if (declared === undefined) return { length: 0 };
  if (!/^[0-9]{1,15}$/.test(declared))
    throw new ServiceError('malformed_request', 'The Content-Length is not a number.');
  return { length: Number(declared) };
}

/** The type and subtype of a Content-Type field in lower case, without its parameters; '' without the field. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1).join('').trim().toLowerCase();
}

/** Refuses every content type but JSON in UTF-8. */
export function requireJson(headers: Headers): void {
  const contentType = headers.get('content-type');
  const [, ...parameters] = (contentType ?? '').split(';');
  if (mediaTypeOf(contentType) !== 'application/json') {
    throw new ServiceError(
      'unsupported_media_type',
      'The body must be sent with the content type application/json.',
    );
  }
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim().toLowerCase() !== 'charset') continue;
    if (value.trim().replaceAll('"', '').toLowerCase() !== 'utf-8') {
      throw new ServiceError('unsupported_media_type', 'The body must be encoded as UTF-8.');
    }
  }
}

/** The server inflates no body, so that a small body cannot become a large one. */
function refuseCodings(fields: ReadonlyMap<string, string>): void {
  const encoding = fields.get('content-encoding');
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new ServiceError(
      'unsupported_media_type',
      'A compressed body is not accepted: send it without Content-Encoding.',
    );
  }
  const transfer = fields.get('transfer-encoding');
  if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked') {
    throw new ServiceError('unsupported_media_type', 'The only transfer coding that is accepted is chunked.');
  }
}
