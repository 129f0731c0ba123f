import type { OperationEntry } from '../../contracts/operation.ts';
import { type Conditions, holdsIfRange, judgeConditions } from '../kernel/conditions.ts';
import { ServiceError } from '../kernel/errors.ts';
import { ByteStream, type RawResponse } from './message.ts';

/** Bytes that a handler answers. The server sends the whole or one range of it, as the request's fields ask. */
export class StoredBytes {
  readonly mediaType: string;
  readonly size: number;
  /** A strong entity tag with its quotes, or `null` for bytes without one. */
  readonly etag: string | null;
  /** When the bytes were written, in milliseconds; `null`: answers have no `Last-Modified`. */
  readonly modifiedAt: number | null;
  /** Reads the bytes from `start` up to, not including, `end`. Runs only where the answer carries bytes. */
  readonly open: (start: number, end: number) => AsyncIterable<Uint8Array>;
  /** Aborted where the answer has to stop, although the client still reads. */
  readonly cut: AbortSignal | null;

  constructor(
    parts: Pick<StoredBytes, 'mediaType' | 'size' | 'etag' | 'open'> &
      Partial<Pick<StoredBytes, 'cut' | 'modifiedAt'>>,
  ) {
    this.mediaType = parts.mediaType;
    this.size = parts.size;
    this.etag = parts.etag;
    this.modifiedAt = parts.modifiedAt ?? null;
    this.open = parts.open;
    this.cut = parts.cut ?? null;
  }
}

/** The request fields that decide which part of a content is sent (RFC 9110 sections 13 and 14). */
export interface Selection extends Conditions {
  readonly method: string;
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
}

export function selectionOf(method: string, header: (name: string) => string | undefined): Selection {
  return {
    method,
    range: header('range'),
    ifRange: header('if-range'),
    ifMatch: header('if-match'),
    ifNoneMatch: header('if-none-match'),
    ifUnmodifiedSince: header('if-unmodified-since'),
    ifModifiedSince: header('if-modified-since'),
  };
}

const wholeContent: Selection = { method: 'GET' };

/**
 * Whether the content with this tag is sent; otherwise the answer is 304. Throws `precondition_failed`. The conditions
 * of a write are checked within the write.
 */
export function isSent(etag: string | null, selection: Selection, modifiedAt: number | null = null): boolean {
  if (etag === null || !['GET', 'HEAD'].includes(selection.method)) return true;
  const judgement = judgeConditions(opaque(etag), selection, modifiedAt);
  if (judgement === 'unmatched')
    throw new ServiceError(
      'precondition_failed',
      'The precondition failed: the current etag does not match.',
    );
  return judgement === 'held';
}

function opaque(etag: string): string {
  return etag.slice(1, -1);
}

/** Whether a successful answer of the operation is plain bytes, so that `HEAD` and ranges make sense. */
export function answersBytes({ responses }: OperationEntry): boolean {
  return responses.some(
    ({ status, schema, mediaType }) =>
      status === 200 && schema === null && mediaType === 'application/octet-stream',
  );
}

/** Writes the whole, one range, or only the fields: 200, 206, 304, 412 or 416. */
export function writeBytes(bytes: StoredBytes, selection: Selection = wholeContent): RawResponse {
  const { size, etag, modifiedAt } = bytes;
  const fields: [string, string][] = etag === null ? [] : [['ETag', etag]];
  if (modifiedAt !== null) fields.push(['Last-Modified', new Date(modifiedAt).toUTCString()]);
  if (!isSent(etag, selection, modifiedAt)) return { status: 304, headers: fields, body: null, close: false };
  fields.push(['Accept-Ranges', 'bytes']);
  const part = partOf(selection, bytes);
  if (part === 'unsatisfiable')
    throw new ServiceError('range_not_satisfiable', 'The range begins behind the last byte.', { size, etag });
  const { start, end } = part ?? { start: 0, end: size };
  const content: [string, string][] = [['Content-Type', bytes.mediaType], ...fields];
  if (part !== null) content.push(['Content-Range', `bytes ${start}-${end - 1}/${size}`]);
  const body = new ByteStream(end - start, () => bytes.open(start, end), undefined, bytes.cut);
  return { status: part === null ? 200 : 206, headers: content, body, close: false };
}

/** Whether the answer of this request carries bytes: no 304, no 416, and nothing for `HEAD`. Throws `precondition_failed`. */
export function carriesBytes(
  selection: Selection,
  bytes: Pick<StoredBytes, 'size' | 'etag' | 'modifiedAt'>,
): boolean {
  return (
    isSent(bytes.etag, selection, bytes.modifiedAt) &&
    selection.method !== 'HEAD' &&
    partOf(selection, bytes) !== 'unsatisfiable'
  );
}

/** RFC 9110 section 14.2 defines ranges for GET alone. A tag that changed means: send the whole. */
function partOf(
  { method, range, ifRange }: Selection,
  { size, etag }: Pick<StoredBytes, 'size' | 'etag'>,
): Range | 'unsatisfiable' | null {
  const isAsked = method === 'GET' && holdsIfRange(ifRange, etag === null ? null : opaque(etag));
  return isAsked && range !== undefined ? rangeOf(range, size) : null;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** `null` for a field that the server ignores: another unit, several ranges, or no valid range. */
function rangeOf(field: string, size: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(field.trim()) ?? [];
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
