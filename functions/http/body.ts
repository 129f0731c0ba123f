import { ByteBlocks } from '../kernel/byte-blocks.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type BodyPolicy, bodyPolicy, type StreamWorld } from './body-time.ts';
import type { Framing } from './headers.ts';
import type { RawRequest } from './message.ts';
import { pacedChunks, tooLarge } from './paced-chunks.ts';

/** Counts the bytes of a body before the server holds them. Throws where they are too many. */
export type ReserveBytes = (bytes: number) => void;

/** Judges the beginning of a body and throws to refuse it. `false`: a longer beginning is needed. */
export type Judge = (beginning: Uint8Array) => Promise<boolean>;

/** The sizes at which the beginning of a body is checked: a smaller body costs too little for a check of its own. */
const judgedAtBytes = [64 * 1024, 1024 * 1024];

/** Reads the whole body, at most `limitBytes`. Refuses a declared length over it before the client is asked to send. */
export async function readBody(
  request: RawRequest,
  framing: Framing,
  limitBytes: number,
  world: StreamWorld,
  {
    policy = bodyPolicy,
    reserve = () => {},
    judge,
  }: {
    readonly policy?: BodyPolicy;
    readonly reserve?: ReserveBytes;
    readonly judge?: Judge | undefined;
  } = {},
): Promise<ByteBlocks> {
  const blocks = new ByteBlocks();
  if (framing.length !== null && framing.length > limitBytes) throw tooLarge(limitBytes);
  if (framing.length === 0) return blocks;
  if (framing.length !== null) reserve(framing.length);
  request.proceed();
  // Too small to be judged. It holds as many bytes as were declared.
  if (request.gathered) return request.gathered.whole(world, policy);
  let sizes = judge === undefined ? [] : judgedAtBytes;
  for await (const chunk of pacedChunks(request.body, limitBytes, world, policy)) {
    if (framing.length === null) reserve(chunk.length);
    blocks.add(chunk);
    if (judge === undefined || blocks.size < (sizes[0] ?? Infinity)) continue;
    sizes = (await judge(blocks.whole())) ? [] : sizes.filter((size) => size > blocks.size);
  }
  return blocks;
}

/** Refuses any body: for an operation without one. */
export async function refuseBody(request: RawRequest, framing: Framing, world: StreamWorld): Promise<void> {
  if (framing.length === 0) return;
  if (framing.length === null) {
    // A chunked body may still turn out to be empty.
    const size = await readBody(request, framing, 1, world).then(
      (body) => body.size,
      (error: unknown) => {
        if (error instanceof ServiceError && error.code === 'payload_too_large') return 1;
        throw error;
      },
    );
    if (size === 0) return;
  }
  throw new ServiceError('malformed_request', 'The operation takes no request body.');
}
