import type { FormPart, OperationEntry } from '../../contracts/operation.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { ByteBody } from './byte-body.ts';
import { byteBody } from './byte-stream.ts';
import { mediaTypeOf } from './headers.ts';
import { boundaryOf, MultipartParser, type PartHead } from './multipart-parser.ts';
import { FormParts } from './operation-input.ts';
import { parseStrictJson, strictJsonLimits } from './strict-json.ts';

/** The most bytes of one JSON part: it is buffered, where the last part is a stream. */
const JSON_PART_BYTES_MAX = 1024 * 1024;

/**
 * Reads a form (RFC 7578) by the parts that the contract names. Reads the JSON parts whole, then hands out the part of bytes
 * as a stream. So that part comes last: what followed it could not be checked before the handler runs.
 */
export async function readForm(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
  { parts = [], json }: Pick<OperationEntry, 'parts' | 'json'>,
): Promise<FormParts> {
  if (mediaTypeOf(contentType) !== 'multipart/form-data')
    throw new ServiceError(
      'unsupported_media_type',
      'The body must be sent with the content type multipart/form-data.',
    );
  const parser = new MultipartParser(chunks, boundaryOf(contentType));
  const values: Record<string, Json> = {};
  const streams: Record<string, ByteBody> = {};
  for (;;) {
    const head = await parser.next();
    if (head === null) break;
    const part = partOf(parts, head, values);
    if (part.kind === 'bytes') {
      const { fileName, mediaType } = head;
      streams[part.name] = byteBody(lastContent(parser), {
        fileName,
        mediaType: mediaType ?? 'application/octet-stream',
      });
      break;
    }
    values[part.name] = parseStrictJson(await readWhole(parser, head), { ...strictJsonLimits, ...json });
  }
  for (const { name, required } of parts)
    if (required && !(name in values) && !(name in streams))
      throw invalidMember(`/${name}`, 'the part is missing, or follows the part of bytes');
  return new FormParts(values, streams);
}

/** The names of the contract are the only ones a form may use, each once. */
function partOf(parts: readonly FormPart[], { name }: PartHead, seen: object): FormPart {
  const part = parts.find((each) => each.name === name);
  if (!part)
    throw new ServiceError('validation_failed', 'The form holds a part that the operation does not have.');
  if (Object.hasOwn(seen, name)) throw invalidMember(`/${part.name}`, 'the part occurs twice');
  return part;
}

async function readWhole(parser: MultipartParser, { name, mediaType }: PartHead): Promise<Uint8Array> {
  if (mediaType !== null && mediaTypeOf(mediaType) !== 'application/json')
    throw new ServiceError('unsupported_media_type', `The part ${name} must be application/json.`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of parser.content()) {
    size += chunk.length;
    if (size > JSON_PART_BYTES_MAX)
      throw new ServiceError(
        'payload_too_large',
        `The part ${name} is larger than ${JSON_PART_BYTES_MAX} bytes.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The stream ends well only where the form ends behind it. */
async function* lastContent(parser: MultipartParser): AsyncGenerator<Uint8Array, void, undefined> {
  yield* parser.content();
  if ((await parser.next()) !== null)
    throw new ServiceError('malformed_request', 'The part of bytes must be the last part of the form.');
}
