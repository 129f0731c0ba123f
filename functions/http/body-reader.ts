import type { ProblemCode } from '../../contracts/generated/errors.ts';
import { limits } from '../../contracts/generated/limits.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { ByteBlocks } from '../kernel/byte-blocks.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { PacedJsonLimits } from '../kernel/paced-json.ts';
import { type JsonCounts, parseStrictJson, strictJsonLimits, textOf } from '../kernel/strict-json.ts';
import type { Turns } from '../kernel/turns.ts';
import type { World } from '../kernel/world.ts';
import { type Judge, type ReserveBytes, readBody, refuseBody } from './body.ts';
import type { BodyPolicy, StreamWorld } from './body-time.ts';
import type { ByteBody } from './byte-body.ts';
import { byteBody } from './byte-stream.ts';
import { type Framing, framingOf, type Headers, mediaTypeOf, requireJson } from './headers.ts';
import type { GatheredBody, RawRequest } from './message.ts';
import { type SentBody, SentText } from './operation-input.ts';
import { pacedChunks, tooLarge } from './paced-chunks.ts';
import type { RouteMatch } from './router.ts';

/** Reads a request body by the media type that the contract names: JSON, a form of parts, or plain bytes. */

export interface BodyReader {
  readonly world: StreamWorld & Pick<World, 'turns'>;
  readonly policy: BodyPolicy;
  /** The largest message that the platform in front carries, in bytes; `null` for no bound. */
  readonly messageBytesMax: number | null;
}

interface Source {
  readonly reader: BodyReader;
  readonly request: RawRequest;
  readonly headers: Headers;
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  readonly framing: Framing;
  readonly limitBytes: number;
  readonly reserve: ReserveBytes;
  readonly judge: Judge | undefined;
}

/** Counts the bytes of a body, and may refuse it before it is read to its end. */
export interface Admission {
  readonly reserve: ReserveBytes;
  readonly judge?: Judge | undefined;
}

/** Reads the body of a request whose caller is authorized; `undefined` when the caller sent none. */
export async function readSentBody(
  reader: BodyReader,
  request: RawRequest,
  headers: Headers,
  { entry, route }: RouteMatch,
  { reserve, judge }: Admission,
): Promise<SentBody | undefined> {
  const framing = framingOf(headers);
  const { bodyLimitBytes } = entry;
  if (bodyLimitBytes === null || route.bodyFromParameters) {
    await refuseBody(request, framing, reader.world);
    return undefined;
  }
  const limitBytes = Math.min(bodyLimitBytes, reader.messageBytesMax ?? bodyLimitBytes);
  const source = { reader, request, headers, entry, route, framing, limitBytes, reserve, judge };
  if (entry.requestMediaType === 'application/json')
    return framing.length === 0 ? undefined : readJson(source);
  if (entry.requestMediaType !== 'multipart/form-data') return readBytes(source);
  const [{ readForm }, chunks] = [await import('./multipart.ts'), openBody(source)];
  return readForm(chunks, headers.get('content-type') ?? '', entry, { reserve, heldBy });
}

async function readJson(source: Source): Promise<Json | SentText> {
  const { reader, request, headers, entry, framing, limitBytes, reserve, judge } = source;
  requireJson(headers);
  const { world, policy } = reader;
  const body = await readBody(request, framing, limitBytes, world, { policy, reserve, judge }).catch(
    (error: unknown) => {
      throw bodyRefusal(error, entry, limitBytes);
    },
  );
  const measured = (counts: JsonCounts): void => reserve(heldBy(counts));
  const most = { ...strictJsonLimits, ...entry.json, floats: entry.floats ?? [], measured };
  const value =
    body.size < PACED_BYTES
      ? parseStrictJson(body.whole(), most)
      : await parsedInParts(
          body,
          { ...most, itemMembersMax, itemContainersMax },
          world.turns.of(request.socketAddress),
        );
  if (entry.keepsText !== true) return value;
  // The handler holds the bytes, and their text once it asks for it.
  reserve(body.size * 2);
  return new SentText(value, () => textOf(body.whole()));
}

/** A large body loads the code for it. */
async function parsedInParts(body: ByteBlocks, most: PacedJsonLimits, turns: Turns): Promise<Json> {
  const { parsePacedJson } = await import('../kernel/paced-json.ts');
  return parsePacedJson(body.blocks(), most, turns);
}

/** A smaller body is parsed before others would wait for it. */
const PACED_BYTES = 256 * 1024;

// An item wraps the content of one commit, at most, in a few members. Before release 0.6.0 a commit could hold as many
// objects and arrays as fit in its bytes, two or more for each; such a commit is in snapshots.
const itemMembersMax = limits.jsonMembersMax * 2;
const itemContainersMax = limits.commitBytesMax / 2 + 10_000;

/** The approximate memory of a JSON text's values: small values need far more memory than their text. */
function heldBy({ members, containers }: JsonCounts): number {
  return containers * 100 + members * 50;
}

function readBytes(source: Source): ByteBody {
  const { headers, entry, route } = source;
  const mediaType = mediaTypeOf(headers.get('content-type'));
  if (mediaType !== entry.requestMediaType && !takesAnyType(route))
    throw new ServiceError(
      'unsupported_media_type',
      `The body must be sent with the content type ${entry.requestMediaType}.`,
    );
  return byteBody(openBody(source), { mediaType });
}

/** An operation with this parameter takes bodies of every type: it keeps the type with the bytes. */
function takesAnyType({ headers }: OperationRoute): boolean {
  return headers.some(({ name }) => name === 'Content-Type');
}

/** Refuses a declared length over the limit before the client is asked to send. */
function openBody({ reader, request, entry, framing, limitBytes }: Source): AsyncIterable<Uint8Array> {
  if (framing.length !== null && framing.length > limitBytes)
    throw bodyRefusal(tooLarge(limitBytes), entry, limitBytes);
  request.proceed();
  if (request.gathered) return wholeOf(request.gathered, reader);
  return pacedChunks(request.body, limitBytes, reader.world, reader.policy);
}

/** A small body in one piece: each piece of a byte would cost a step. */
async function* wholeOf(
  gathered: GatheredBody,
  { world, policy }: BodyReader,
): AsyncGenerator<Uint8Array, void, undefined> {
  const blocks = await gathered.whole(world, policy);
  if (blocks.size > 0) yield blocks.take();
}

/** Adds the advice of the contract to the refusal of a body that is too large. */
export function bodyRefusal(error: unknown, { overLimit }: OperationEntry, limitBytes: number): unknown {
  const isTooLarge = error instanceof ServiceError && error.code === 'payload_too_large';
  if (!isTooLarge || overLimit === undefined) return error;
  const detail = `The request body is larger than ${limitBytes} bytes. ${overLimit.advice}`;
  return new ServiceError(overLimit.problem as ProblemCode, detail);
}
