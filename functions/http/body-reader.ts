import type { ProblemCode } from '../../contracts/generated/errors.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type BodyPolicy, readBody, refuseBody, tooLarge } from './body.ts';
import type { ByteBody } from './byte-body.ts';
import { byteBody, pacedChunks, type StreamWorld } from './byte-stream.ts';
import { type Framing, framingOf, type Headers, mediaTypeOf, requireJson } from './headers.ts';
import type { RawRequest } from './message.ts';
import type { SentBody } from './operation-input.ts';
import type { RouteMatch } from './router.ts';
import { parseStrictJson } from './strict-json.ts';

/** Reads a request body by the media type that the contract names: JSON, a form of parts, or plain bytes. */

export interface BodyReader {
  readonly world: StreamWorld;
  readonly policy: BodyPolicy;
  /** The largest message that the platform in front carries, in bytes; `null` for no bound. */
  readonly messageBytesMax: number | null;
}

interface Source {
  readonly reader: BodyReader;
  readonly request: RawRequest;
  readonly headers: Headers;
  readonly entry: OperationEntry;
  readonly framing: Framing;
  readonly limitBytes: number;
}

/** Reads the body of a request whose caller is authorized; `undefined` where the caller sent none. */
export async function readSentBody(
  reader: BodyReader,
  request: RawRequest,
  headers: Headers,
  { entry, route }: RouteMatch,
): Promise<SentBody | undefined> {
  const framing = framingOf(headers);
  const { bodyLimitBytes } = entry;
  if (bodyLimitBytes === null || route.bodyFromParameters) {
    await refuseBody(request, framing, reader.world.timers);
    return undefined;
  }
  const limitBytes = Math.min(bodyLimitBytes, reader.messageBytesMax ?? bodyLimitBytes);
  const source = { reader, request, headers, entry, framing, limitBytes };
  if (entry.requestMediaType === 'application/json')
    return framing.length === 0 ? undefined : readJson(source);
  if (entry.requestMediaType !== 'multipart/form-data') return readBytes(source);
  const [{ readForm }, chunks] = [await import('./multipart.ts'), openBody(source)];
  return readForm(chunks, headers.get('content-type') ?? '', entry);
}

async function readJson({ reader, request, headers, entry, framing, limitBytes }: Source): Promise<Json> {
  requireJson(headers);
  const { timers } = reader.world;
  const bytes = await readBody(request, framing, limitBytes, timers, reader.policy).catch(
    (error: unknown) => {
      throw bodyRefusal(error, entry, limitBytes);
    },
  );
  return parseStrictJson(bytes, entry.json);
}

function readBytes(source: Source): ByteBody {
  const { headers, entry } = source;
  const mediaType = mediaTypeOf(headers.get('content-type'));
  if (mediaType !== entry.requestMediaType)
    throw new ServiceError(
      'unsupported_media_type',
      `The body must be sent with the content type ${entry.requestMediaType}.`,
    );
  return byteBody(openBody(source), { mediaType });
}

/** Refuses a declared length over the limit before the client is asked to send. */
function openBody({ reader, request, entry, framing, limitBytes }: Source): AsyncIterable<Uint8Array> {
  if (framing.length !== null && framing.length > limitBytes)
    throw bodyRefusal(tooLarge(limitBytes), entry, limitBytes);
  request.proceed();
  return pacedChunks(request.body, limitBytes, reader.world, reader.policy);
}

/** Adds the advice of the contract to the refusal of a body that is too large. */
export function bodyRefusal(error: unknown, { overLimit }: OperationEntry, limitBytes: number): unknown {
  const isTooLarge = error instanceof ServiceError && error.code === 'payload_too_large';
  if (!isTooLarge || overLimit === undefined) return error;
  const detail = `The request body is larger than ${limitBytes} bytes. ${overLimit.advice}`;
  return new ServiceError(overLimit.problem as ProblemCode, detail);
}
