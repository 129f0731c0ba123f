/**
 * Who may hold bytes of objects, where the process has a bound for all of them and a share of it for each space.
 *
 * An upload holds what has arrived and one step more, and asks for the next step as it grows. What it has declared is no more than a
 * promise: a caller who declares much and sends slowly takes nothing from others. An answer holds its object until it is sent.
 *
 * - An upload or an answer that falls behind `PROMPT_BYTES_PER_SECOND` is slow. Slow ones are ended where others need their bytes, and
 *   only there.
 * - What is held longer than `WHOLE_MS` at its pace gives way, where there is no other room, to a call of another space that would hold less
 *   than half of what its own space holds; within a space, to a call that would hold less than it does. So two callers who read the largest objects just
 *   fast enough take nothing from others: who has less comes first. Nor do they by asking again and again: after it gave way, a space has
 *   no time to show its pace for `NO_GRACE_MS`.
 * - The oldest upload of the process is not ended for the bound of the process, and a prompt one ends younger uploads where it needs their
 *   bytes; the oldest of a space likewise within the share of the space. Without this, uploads that fill the bound together could end
 *   each other for ever. With it the oldest finishes, then the next one. A slow upload is spared for its first `SPARED_MS` alone: who
 *   sends slowly, again and again, keeps no more from others than it sends in this time.
 * - A space begins no upload that the promises of its other prompt uploads leave no room for, so that they do not end each other half way.
 *   Promises count in their own space alone: empty ones take nothing from others.
 * - Bytes that have arrived whole are not taken from their call before its answer.
 */

/** One call. The rules read it and never change it. */
export interface ByteHolder {
  readonly space: string;
  /** Bytes that it holds. */
  readonly bytes: number;
  /** The bytes of its upload as a whole, as far as it has declared them. */
  readonly promised: number;
  /** Until when its upload or answer counts as prompt, in milliseconds since 1970; `null` where neither is under way. */
  readonly promptUntil: number | null;
  /** Until when its upload or answer is fast enough for what it holds; `null` where neither is under way. */
  readonly fastUntil: number | null;
  /** When its upload began, in milliseconds since 1970; `null` where none is under way. */
  readonly uploadSince: number | null;
}

export interface ByteBounds {
  readonly processMax: number;
  readonly spaceMax: number;
}

/** A call that holds no more is neither refused nor ended: the connections bound how many there are. */
const SMALL_HOLD_BYTES = 64 * 1024;
/** Mobile networks send so fast. It is above the pace at which HTTP ends a body for good. */
const PROMPT_BYTES_PER_SECOND = 256 * 1024;
/** The longest pause of an upload or answer that is otherwise prompt. */
const PAUSE_MS = 5_000;
/** Before the first bytes: a promise that nothing comes of holds up its space for no longer. */
const FIRST_PAUSE_MS = 1_000;
/** In so long an upload or answer that is fast enough for its bytes passes as a whole, but for pauses. */
const WHOLE_MS = 30_000;
/** So long after something of a space gave way, what it begins has to show its pace from the first byte. */
export const NO_GRACE_MS = 30_000;
/** The largest object arrives in four times as long at the least pace of a prompt upload. */
const SPARED_MS = 60_000;

/** Until when an upload that begins now is prompt. */
export function promptFrom(now: number): number {
  return now + FIRST_PAUSE_MS;
}

/** Until when an answer that begins now is prompt. */
export function promptAnswerFrom(now: number): number {
  return now + PAUSE_MS;
}

/** After more bytes have passed. A fast beginning saves up no more than one pause. */
export function promptAfter(promptUntil: number, bytes: number, now: number): number {
  return Math.min(now + PAUSE_MS, promptUntil + (bytes * 1_000) / PROMPT_BYTES_PER_SECOND);
}

/** Until when what begins now is fast enough, whatever it will hold. `gaveWayAt`: when something of its space did so last. */
export function fastFrom(now: number, gaveWayAt: number | null): number {
  return gaveWayAt !== null && now - gaveWayAt < NO_GRACE_MS ? now : now + PAUSE_MS;
}

/** After more bytes have passed of a call that holds so many. */
export function fastAfter(fastUntil: number, bytes: number, held: number, now: number): number {
  return Math.min(now + PAUSE_MS, fastUntil + (bytes * WHOLE_MS) / Math.max(held, bytes, 1));
}

/** One share for each space: half of the process, and always room for the largest object. */
export function boundsOf(processMax: number, objectBytesMax: number): ByteBounds {
  return { processMax, spaceMax: Math.max(Math.ceil(processMax / 2), Math.min(processMax, objectBytesMax)) };
}

/**
 * Whether the space of an upload that begins has room for all that is promised there, beside what would be ended for it. A space that
 * holds nothing always has.
 */
export function mayBegin(
  holders: Iterable<ByteHolder>,
  asking: ByteHolder,
  { spaceMax }: ByteBounds,
  now: number,
): boolean {
  if (asking.promised <= SMALL_HOLD_BYTES) return true;
  const own = [...holders].filter(({ space }) => space === asking.space);
  const givesWay = new Set<ByteHolder>([
    ...slowOnes(own, asking, now),
    ...lingering(own, asking, now).filter(({ bytes }) => bytes > asking.promised),
  ]);
  let expected = 0;
  for (const each of own)
    if (each !== asking && !givesWay.has(each))
      expected += isPrompt(each, now) ? Math.max(each.bytes, each.promised) : each.bytes;
  return expected === 0 || expected + asking.promised <= spaceMax;
}

/**
 * The uploads and answers that have to end so that `asking` may hold so many bytes more; `null` where it is refused. `holders` are all
 * calls, the oldest first, `asking` among them. A call that is alone in its space, and in the process, gets what it asks for.
 */
export function makeRoom<H extends ByteHolder>(
  holders: Iterable<H>,
  asking: H,
  { bytes, now, bounds }: { readonly bytes: number; readonly now: number; readonly bounds: ByteBounds },
): readonly H[] | null {
  if (asking.bytes + bytes <= SMALL_HOLD_BYTES) return [];
  const all = [...holders];
  const own = all.filter(({ space }) => space === asking.space);
  const inSpace = endedFor(own, asking, { bytes, now, max: bounds.spaceMax, areSpacesWeighed: false });
  if (inSpace === null) return null;
  const rest = all.filter((each) => !inSpace.includes(each));
  const inProcess = endedFor(rest, asking, { bytes, now, max: bounds.processMax, areSpacesWeighed: true });
  return inProcess === null ? null : [...inSpace, ...inProcess];
}

interface Room {
  readonly bytes: number;
  readonly now: number;
  readonly max: number;
  /** Spaces are compared by what they hold; otherwise calls are. */
  readonly areSpacesWeighed: boolean;
}

function endedFor<H extends ByteHolder>(
  holders: readonly H[],
  asking: H,
  { bytes, now, max, areSpacesWeighed }: Room,
): readonly H[] | null {
  let held = holders.reduce((sum, each) => sum + each.bytes, 0);
  const fits = () => held + bytes <= max || held === asking.bytes;
  if (fits()) return [];
  const spaces = new Map<string, number>();
  for (const { space, bytes: own } of holders) spaces.set(space, (spaces.get(space) ?? 0) + own);
  const weightOf = (each: H) => (areSpacesWeighed ? (spaces.get(each.space) ?? 0) : each.bytes);
  const ended = new Set<H>();
  const end = (each: H) => {
    ended.add(each);
    held -= each.bytes;
    spaces.set(each.space, (spaces.get(each.space) ?? 0) - each.bytes);
  };
  const { slow, prompt } = weakest(holders, asking, now);
  for (const each of slow) {
    end(each);
    if (fits()) return [...ended];
  }
  // Spaces that want the same would otherwise end each other in turn.
  const margin = areSpacesWeighed ? 2 : 1;
  const left = isSlow(asking, now) ? [] : lingering(holders, asking, now).filter((each) => !ended.has(each));
  for (;;) {
    const next = heaviestOf(left, weightOf);
    if (next === undefined || weightOf(next) <= margin * (weightOf(asking) + bytes)) break;
    left.splice(left.indexOf(next), 1);
    end(next);
    if (fits()) return [...ended];
  }
  for (const each of prompt) {
    if (!ended.has(each)) end(each);
    if (fits()) return [...ended];
  }
  return null;
}

function heaviestOf<H extends ByteHolder>(
  holders: readonly H[],
  weightOf: (holder: H) => number,
): H | undefined {
  let heaviest: H | undefined;
  for (const each of holders)
    if (heaviest === undefined || weightOf(each) > weightOf(heaviest)) heaviest = each;
  return heaviest;
}

/** What gives way to `asking`: slow ones, the slowest first, and, for the oldest upload, prompt uploads, the youngest first. */
function weakest<H extends ByteHolder>(holders: readonly H[], asking: H, now: number) {
  const slow = slowOnes(holders, asking, now);
  if (asking !== sparedOf(holders, now)) return { slow: isSlow(asking, now) ? [] : slow, prompt: [] };
  if (isSlow(asking, now)) return { slow, prompt: [] };
  const prompt = holders.filter(
    (each) =>
      each !== asking && each.uploadSince !== null && isPrompt(each, now) && each.bytes > SMALL_HOLD_BYTES,
  );
  return { slow, prompt: prompt.reverse() };
}

/** Those that are not fast enough for what they hold, the slowest first. */
function lingering<H extends ByteHolder>(holders: readonly H[], asking: H, now: number): H[] {
  const spared = sparedOf(holders, now);
  const isOver = ({ fastUntil, bytes }: H) =>
    fastUntil !== null && fastUntil < now && bytes > SMALL_HOLD_BYTES;
  return holders
    .filter((each) => each !== asking && each !== spared && isOver(each))
    .sort((left, right) => (left.fastUntil ?? 0) - (right.fastUntil ?? 0));
}

function slowOnes<H extends ByteHolder>(holders: readonly H[], asking: H, now: number): H[] {
  const spared = sparedOf(holders, now);
  return holders
    .filter(
      (each) => each !== asking && each !== spared && isSlow(each, now) && each.bytes > SMALL_HOLD_BYTES,
    )
    .sort((left, right) => (left.promptUntil ?? 0) - (right.promptUntil ?? 0));
}

/** The oldest upload that is prompt, or has begun a short time ago. */
function sparedOf<H extends ByteHolder>(holders: readonly H[], now: number): H | undefined {
  return holders.find(
    (each) => each.uploadSince !== null && (isPrompt(each, now) || now - each.uploadSince < SPARED_MS),
  );
}

function isSlow({ promptUntil }: ByteHolder, now: number): boolean {
  return promptUntil !== null && promptUntil < now;
}

function isPrompt({ promptUntil }: ByteHolder, now: number): boolean {
  return promptUntil !== null && promptUntil >= now;
}
