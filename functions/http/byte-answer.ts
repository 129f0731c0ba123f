import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Headers } from './headers.ts';
import { ByteStream, type RawResponse } from './message.ts';

/** Bytes that a handler answers. The server sends the whole or one range of it, as the request's fields ask. */
export class StoredBytes {
  readonly mediaType: string;
  readonly size: number;
  /** A strong entity tag with its quotes, or `null` where the bytes have none. */
  readonly etag: string | null;
  /** Reads the bytes from `start` up to, not including, `end`. Runs only where the answer carries bytes. */
  readonly open: (start: number, end: number) => AsyncIterable<Uint8Array>;
  /** Aborted where the answer has to stop, although the client still reads. */
  readonly cut: AbortSignal | null;

  constructor(
    parts: Pick<StoredBytes, 'mediaType' | 'size' | 'etag' | 'open'> & Partial<Pick<StoredBytes, 'cut'>>,
  ) {
    this.mediaType = parts.mediaType;
    this.size = parts.size;
    this.etag = parts.etag;
    this.open = parts.open;
    this.cut = parts.cut ?? null;
  }
}

/** The fields of a request that select a part of the bytes (RFC 9110 sections 13 and 14). */
export interface ByteSelection {
  readonly method: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export function selectionOf(method: string, headers: Headers): ByteSelection {
  return {
    method,
    // Two fields may contradict each other; a server may ignore a range.
    range: headers.repeats('range') ? undefined : headers.get('range'),
    ifRange: headers.get('if-range'),
    ifNoneMatch: headers.get('if-none-match'),
  };
}

const wholeBytes: ByteSelection = {
  method: 'GET',
  range: undefined,
  ifRange: undefined,
  ifNoneMatch: undefined,
};

/** Whether a successful answer of the operation is plain bytes, so that `HEAD` and ranges make sense. */
export function answersBytes({ responses }: OperationEntry): boolean {
  return responses.some(
    ({ status, schema, mediaType }) =>
      status === 200 && schema === null && mediaType === 'application/octet-stream',
  );
}

/** Writes the whole, one range, or only the fields: 200, 206, 304 or 416. */
export function writeBytes(
  bytes: StoredBytes,
  { method, range, ifRange, ifNoneMatch }: ByteSelection = wholeBytes,
): RawResponse {
  const { size, etag } = bytes;
  const fields: [string, string][] = etag === null ? [] : [['ETag', etag]];
  if (etag !== null && ifNoneMatch !== undefined && matches(ifNoneMatch, etag))
    return { status: 304, headers: fields, body: null, close: false };
  fields.push(['Accept-Ranges', 'bytes']);
  const part = partOf({ method, range, ifRange }, { size, etag });
  if (part === 'unsatisfiable')
    throw new ServiceError('range_not_satisfiable', 'The range begins behind the last byte.', { size, etag });
  const { start, end } = part ?? { start: 0, end: size };
  const content: [string, string][] = [['Content-Type', bytes.mediaType], ...fields];
  if (part !== null) content.push(['Content-Range', `bytes ${start}-${end - 1}/${size}`]);
  const body = new ByteStream(end - start, () => bytes.open(start, end), undefined, bytes.cut);
  return { status: part === null ? 200 : 206, headers: content, body, close: false };
}

/** Whether the answer of this request carries bytes: no 304, no 416, and nothing for `HEAD`. */
export function carriesBytes(selection: ByteSelection, bytes: Pick<StoredBytes, 'size' | 'etag'>): boolean {
  const { method, ifNoneMatch } = selection;
  if (method === 'HEAD') return false;
  if (bytes.etag !== null && ifNoneMatch !== undefined && matches(ifNoneMatch, bytes.etag)) return false;
  return partOf(selection, bytes) !== 'unsatisfiable';
}

/** RFC 9110 section 14.2 defines ranges for GET alone. A tag that changed means: send the whole. */
function partOf(
  { method, range, ifRange }: Omit<ByteSelection, 'ifNoneMatch'>,
  { size, etag }: Pick<StoredBytes, 'size' | 'etag'>,
): Range | 'unsatisfiable' | null {
  const isAsked = method === 'GET' && (ifRange === undefined || ifRange.trim() === etag);
  return isAsked && range !== undefined ? rangeOf(range, size) : null;
}

/**
 * If-None-Match compares weakly: `W/"a"` matches `"a"` (RFC 9110 section 13.1.2). A tag without its quotes, as JSON answers it, matches
 * as well.
 */
export function matches(field: string, etag: string): boolean {
  return field.trim() === '*' || field.split(',').some((tag) => strongTag(tag) === strongTag(etag));
}

function strongTag(tag: string): string {
  return tag
    .trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/, '$1');
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** `null` for a field that the server ignores: another unit, several ranges, or no valid range. */
function rangeOf(field: string, size: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(field.trim()) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}
