import { ServiceError } from '../kernel/errors.ts';
import type { Clock } from '../kernel/world.ts';
import {
  type ByteBounds,
  type ByteHolder,
  boundsOf,
  fastAfter,
  fastFrom,
  makeRoom,
  mayBegin,
  NO_GRACE_MS,
  promptAfter,
  promptAnswerFrom,
  promptFrom,
} from './rules/byte-room.ts';

const RETRY_AFTER_SECONDS = 1;
/** Neither an upload nor an answer is under way. */
const IDLE = { promised: 0, promptUntil: null, fastUntil: null, uploadSince: null, onEnd: null } as const;

/** The bytes of objects that one call holds in memory. */
export interface ByteLease {
  /** Counts bytes before they are held. Throws `unavailable` where the space or the process holds too many. */
  take(bytes: number): void;
  /**
   * Begins an upload, which then takes its bytes as they arrive. `promised` is its declared size, 0 if unknown. Throws `unavailable`
   * if there is no room for it now. `onEnd` is called if the upload has to end for others: it then holds nothing.
   */
  begin(promised: number, onEnd: (error: ServiceError) => void): void;
  /** Records bytes that have arrived or were sent: the pace decides whether the call ends for others. */
  progress(bytes: number): void;
  /** Marks an upload as complete: it holds `bytes` from now on, and no longer ends to make room for other calls. */
  settle(bytes: number): void;
  /**
   * Begins to send the answer, which holds at most `bytes` from now on. `onEnd` is called if it is slow and others need its bytes:
   * it then counts no more, and the caller has to cut the connection.
   */
  serve(onEnd: (error: ServiceError) => void, bytes?: number): void;
  /** Gives all bytes back. A second call has no effect. */
  release(): void;
}

/** One call. It is among the holders while it holds bytes or is an upload. */
interface Holder extends ByteHolder {
  bytes: number;
  promised: number;
  promptUntil: number | null;
  fastUntil: number | null;
  uploadSince: number | null;
  onEnd: ((error: ServiceError) => void) | null;
  ended: ServiceError | null;
}

/**
 * Counts the bytes of objects that a process holds in memory while they arrive, are stored or are sent. `rules/byte-room.ts` decides
 * which call may hold more.
 */
export class ObjectMemory {
  readonly #bounds: ByteBounds;
  readonly #clock: Clock;
  /** The calls that hold bytes, the oldest first. */
  readonly #holders = new Set<Holder>();
  /** When a call of a space last gave way. */
  readonly #gaveWay = new Map<string, number>();
  #total = 0;

  constructor(bytesMax: number, objectBytesMax: number, clock: Clock) {
    this.#bounds = boundsOf(bytesMax, objectBytesMax);
    this.#clock = clock;
  }

  get total(): number {
    return this.#total;
  }

  lease(space: string): ByteLease {
    const own: Holder = { space, bytes: 0, ...IDLE, ended: null };
    return {
      take: (bytes) => this.#take(own, bytes),
      begin: (promised, onEnd) => this.#begin(own, promised, onEnd),
      progress: (bytes) => {
        if (own.promptUntil === null || own.fastUntil === null) return;
        const now = this.#clock.now();
        own.promptUntil = promptAfter(own.promptUntil, bytes, now);
        own.fastUntil = fastAfter(own.fastUntil, bytes, own.bytes, now);
      },
      settle: (bytes) => {
        if (own.ended !== null) throw own.ended;
        this.#add(own, bytes - own.bytes);
        Object.assign(own, IDLE);
      },
      serve: (onEnd, bytes = own.bytes) => {
        this.#add(own, Math.min(0, bytes - own.bytes));
        const now = this.#clock.now();
        Object.assign(own, IDLE, {
          promptUntil: promptAnswerFrom(now),
          fastUntil: this.#fastFrom(own, now),
          onEnd,
        });
      },
      release: () => this.#release(own),
    };
  }

  #begin(own: Holder, promised: number, onEnd: (error: ServiceError) => void): void {
    const now = this.#clock.now();
    const paces = { promptUntil: promptFrom(now), fastUntil: this.#fastFrom(own, now) };
    Object.assign(own, { promised, ...paces, uploadSince: now, onEnd });
    this.#holders.add(own);
    const all = { bytes: promised, now, bounds: this.#bounds };
    if (mayBegin(this.#holders, own, this.#bounds, now) && makeRoom(this.#holders, own, all) !== null) return;
    this.#release(own);
    throw tooManyBytes();
  }

  #take(own: Holder, bytes: number): void {
    if (own.ended !== null) throw own.ended;
    this.#holders.add(own);
    const room = makeRoom(this.#holders, own, { bytes, now: this.#clock.now(), bounds: this.#bounds });
    if (room === null) throw tooManyBytes();
    for (const each of room) this.#end(each);
    this.#add(own, bytes);
  }

  #fastFrom({ space }: Holder, now: number): number {
    return fastFrom(now, this.#gaveWay.get(space) ?? null);
  }

  #end(holder: Holder): void {
    const { onEnd, space } = holder;
    const now = this.#clock.now();
    for (const [each, at] of this.#gaveWay) if (now - at >= NO_GRACE_MS) this.#gaveWay.delete(each);
    this.#gaveWay.set(space, now);
    holder.ended = gaveWay();
    this.#release(holder);
    onEnd?.(holder.ended);
  }

  #release(holder: Holder): void {
    this.#add(holder, -holder.bytes);
    Object.assign(holder, IDLE);
    this.#holders.delete(holder);
  }

  #add(holder: Holder, bytes: number): void {
    holder.bytes += bytes;
    this.#total += bytes;
  }
}

function tooManyBytes(): ServiceError {
  return busy(
    'Uploads and downloads of objects hold too many bytes at the moment. Nothing was done. Try again.',
  );
}

function gaveWay(): ServiceError {
  return busy(
    'The transfer was slow, or the last to begin, and other calls needed its memory. Nothing was done. Try again.',
  );
}

function busy(detail: string): ServiceError {
  return new ServiceError('unavailable', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
