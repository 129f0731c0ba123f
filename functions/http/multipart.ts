import type { FormPart, OperationEntry } from '../../contracts/operation.ts';
import { ByteBlocks } from '../kernel/byte-blocks.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { type JsonCounts, parseStrictJson, strictJsonLimits, textOf } from '../kernel/strict-json.ts';
import type { ReserveBytes } from './body.ts';
import type { ByteBody } from './byte-body.ts';
import { byteBody } from './byte-stream.ts';
import { mediaTypeOf } from './headers.ts';
import type { PartHead } from './multipart-head.ts';
import { boundaryOf, MultipartParser } from './multipart-parser.ts';
import { FormParts } from './operation-input.ts';

/** The most bytes of one JSON part: it is buffered, where the last part is a stream. */
const JSON_PART_BYTES_MAX = 1024 * 1024;

/**
 * Reads a form (RFC 7578) by the parts that the contract names. Reads the JSON parts whole, then hands out the part of
 * bytes as a stream. That part must come last: parts after it could not be checked before the handler runs. `reserve`
 * counts the JSON parts; the handler counts the stream.
 */
export async function readForm(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
  {
    parts = [],
    json,
    keepsText,
    floats = [],
  }: Pick<OperationEntry, 'parts' | 'json' | 'keepsText' | 'floats'>,
  { reserve, heldBy }: FormCount = { reserve: () => {}, heldBy: () => 0 },
): Promise<FormParts> {
  if (mediaTypeOf(contentType) !== 'multipart/form-data')
    throw new ServiceError(
      'unsupported_media_type',
      'The body must be sent with the content type multipart/form-data.',
    );
  const parser = new MultipartParser(chunks, boundaryOf(contentType));
  const values: Record<string, Json> = {};
  const texts: [name: string, bytes: Uint8Array][] = [];
  const measured = (counts: JsonCounts): void => reserve(heldBy(counts));
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
    const pointer = `/${part.name}`;
    const bytes = await readWhole(parser, head, reserve);
    values[part.name] = parseStrictJson(bytes, {
      ...strictJsonLimits,
      ...json,
      floats: floats
        .filter((each) => each.startsWith(`${pointer}/`))
        .map((each) => each.slice(pointer.length)),
      pointer,
      measured,
    });
    if (keepsText === true) {
      // The handler holds the bytes, and their text once it asks for it.
      reserve(bytes.byteLength * 2);
      texts.push([part.name, bytes]);
    }
  }
  for (const { name, required } of parts)
    if (required && !(name in values) && !(name in streams))
      throw invalidMember(`/${name}`, 'the part is missing, or follows the part of bytes');
  return new FormParts(values, streams, keepsText === true ? () => jsonText(texts) : undefined);
}

/** Counts the memory of a form. */
export interface FormCount {
  readonly reserve: ReserveBytes;
  /** The memory of a JSON text's values, beside the text. */
  readonly heldBy: (counts: JsonCounts) => number;
}

/** An object of the JSON parts. */
function jsonText(texts: readonly (readonly [name: string, bytes: Uint8Array])[]): string {
  return `{${texts.map(([name, bytes]) => `${JSON.stringify(name)}:${textOf(bytes)}`).join(',')}}`;
}

/** The names of the contract are the only ones a form may use, each once. */
function partOf(parts: readonly FormPart[], { name }: PartHead, seen: object): FormPart {
  const part = parts.find((each) => each.name === name);
  if (!part)
    throw new ServiceError('validation_failed', 'The form holds a part that the operation does not have.');
  if (Object.hasOwn(seen, name)) throw invalidMember(`/${part.name}`, 'the part occurs twice');
  return part;
}

/**
 * Types that clients send with JSON text: .NET adds `text/plain` to each text, and some clients send no type for a
 * file.
 */
const jsonTypes = /^(?:application\/(?:[\w.-]+\+)?json|text\/(?:plain|json)|application\/octet-stream)$/;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)"?/i;

async function readWhole(
  parser: MultipartParser,
  { name, mediaType }: PartHead,
  reserve: ReserveBytes,
): Promise<Uint8Array> {
  const charset = CHARSET.exec(mediaType ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  if (mediaType !== null && !jsonTypes.test(mediaTypeOf(mediaType)))
    throw invalidMember(`/${name}`, 'must be JSON, sent as application/json, text/plain or without a type');
  if (!['utf-8', 'utf8', 'us-ascii'].includes(charset)) throw invalidMember(`/${name}`, 'must be UTF-8');
  const blocks = new ByteBlocks();
  for await (const chunk of parser.content()) {
    if (blocks.size + chunk.length > JSON_PART_BYTES_MAX)
      throw invalidMember(`/${name}`, `must have at most ${JSON_PART_BYTES_MAX} bytes`, 'limit_exceeded');
    reserve(chunk.length);
    blocks.add(chunk);
  }
  return blocks.whole();
}

/** The stream ends well only where the form ends behind it. */
async function* lastContent(parser: MultipartParser): AsyncGenerator<Uint8Array, void, undefined> {
  yield* parser.content();
  if ((await parser.next()) !== null)
    throw new ServiceError('malformed_request', 'The part of bytes must be the last part of the form.');
}
