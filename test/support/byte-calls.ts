import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';

const SLICE_BYTES = 1024 * 1024;

export interface ByteAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly content: Buffer;
}

/** Puts bytes, or gets them, as a client that reads the answer while it sends, and sends no more once it is refused. */
export function callBytes(
  url: string,
  body: Buffer | null,
  more: Readonly<Record<string, string>> = {},
): Promise<ByteAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ByteAnswer>();
  const sized = body === null ? {} : { 'Content-Length': body.length };
  const headers = { ...more, ...sized, ...(body !== null && { 'Content-Type': 'application/octet-stream' }) };
  const request = httpRequest(url, { method: body === null ? 'GET' : 'PUT', headers, agent: false });
  let isAnswered = false;
  request.on('response', (response) => {
    isAnswered = true;
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const { statusCode: status = 0, headers: fields } = response;
      resolve({ status, retryAfter: fields['retry-after'], content: Buffer.concat(chunks) });
      request.destroy();
    });
  });
  request.on('error', (error) => {
    if (!isAnswered) reject(error);
  });
  const isOver = () => isAnswered;
  Readable.from(slicesOf(body ?? Buffer.alloc(0), isOver)).pipe(request);
  return promise;
}

function* slicesOf(body: Buffer, isOver: () => boolean): Generator<Buffer, void, undefined> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    if (isOver()) return;
    yield body.subarray(at, at + SLICE_BYTES);
  }
}
