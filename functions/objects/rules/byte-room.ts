/**
 * Decides which calls may hold bytes of objects in memory: the process has a bound for all, and each space has a share of it.
 *
 * An upload holds the bytes that have arrived and one step more, and asks for the next step as it grows. Its declared size is only
 * a promise: a caller that declares much and sends slowly takes nothing from others. An answer holds its object until it is sent.
 *
 * - An upload or an answer that falls behind `PROMPT_BYTES_PER_SECOND` is slow. A slow one is ended only when another call needs
 *   its bytes.
 * - A call that would hold its bytes longer than `WHOLE_MS` at its pace gives way if there is no other room: to a call of another
 *   space that would hold less than half as much as its own space, and within a space to a call that would hold less than it.
 *   So two callers that read the largest objects just fast enough do not block callers that hold less. Repeating the calls does not
 *   help them: for `NO_GRACE_MS` after it gave way, a space gets no time to show its pace.
 * - The oldest upload of the process is not ended for the bound of the process, and if it is prompt, it ends younger uploads whose
 *   bytes it needs. The same holds for the oldest upload of a space within the share of the space. Without this rule,
 *   uploads that fill the bound together could end each other for ever. With this rule the oldest upload finishes, then the next
 *   oldest. A slow upload is spared only for its first `SPARED_MS`, so that a caller that sends slowly again and again blocks few
 *   bytes.
 * - A space begins no upload for which the declared sizes of its other prompt uploads leave no room, so that they do not end each
 *   other half way. Declared sizes count only in their own space: false ones take nothing from others.
 * - An upload that has arrived whole keeps its bytes until its answer.
 */

/** One call. The rules read it and never change it. */
export interface ByteHolder {
  readonly space: string;
  /** Bytes that it holds. */
  readonly bytes: number;
  /** The declared size of its upload; 0 if it is unknown. */
  readonly promised: number;
  /** Until when its upload or answer counts as prompt, in milliseconds since 1970; `null` where neither is under way. */
  readonly promptUntil: number | null;
  /** The time until which its upload or answer is fast enough for the bytes that it holds; `null` if neither is under way. */
  readonly fastUntil: number | null;
  /** When its upload began, in milliseconds since 1970; `null` where none is under way. */
  readonly uploadSince: number | null;
}

export interface ByteBounds {
  readonly processMax: number;
  readonly spaceMax: number;
}

/** A call that holds no more is neither refused nor ended: the limit on connections bounds their number. */
const SMALL_HOLD_BYTES = 64 * 1024;
/** The pace of mobile networks. It is above the pace at which the HTTP server ends a body. */
const PROMPT_BYTES_PER_SECOND = 256 * 1024;
/** The longest pause of an upload or answer that is otherwise prompt. */
const PAUSE_MS = 5_000;
/** The longest pause before the first bytes: a declared size without bytes blocks its space no longer. */
const FIRST_PAUSE_MS = 1_000;
/** An upload or answer that is fast enough for its bytes passes as a whole in this time, apart from pauses. */
const WHOLE_MS = 30_000;
/** For this time after a call of a space gave way, its new calls have to show their pace from the first byte. */
export const NO_GRACE_MS = 30_000;
/** The largest object takes four times as long at the slowest pace of a prompt upload. */
const SPARED_MS = 60_000;

/** Until when an upload that begins now is prompt. */
export function promptFrom(now: number): number {
  return now + FIRST_PAUSE_MS;
}

/** Until when an answer that begins now is prompt. */
export function promptAnswerFrom(now: number): number {
  return now + PAUSE_MS;
}

/** The new value after more bytes have passed. A fast beginning saves up no more than one pause. */
export function promptAfter(promptUntil: number, bytes: number, now: number): number {
  return Math.min(now + PAUSE_MS, promptUntil + (bytes * 1_000) / PROMPT_BYTES_PER_SECOND);
}

/** Until when a call that begins now counts as fast enough for any size. `gaveWayAt`: when a call of its space last gave way. */
export function fastFrom(now: number, gaveWayAt: number | null): number {
  return gaveWayAt !== null && now - gaveWayAt < NO_GRACE_MS ? now : now + PAUSE_MS;
}

/** The new value after more bytes have passed of a call that holds `held` bytes. */
export function fastAfter(fastUntil: number, bytes: number, held: number, now: number): number {
  return Math.min(now + PAUSE_MS, fastUntil + (bytes * WHOLE_MS) / Math.max(held, bytes, 1));
}

/** The bounds. The share of each space is half of the process, and always has room for the largest object. */
export function boundsOf(processMax: number, objectBytesMax: number): ByteBounds {
  return { processMax, spaceMax: Math.max(Math.ceil(processMax / 2), Math.min(processMax, objectBytesMax)) };
}

/**
 * Whether the space of a beginning upload has room for all declared sizes there, not counting calls that would be ended for it. A
 * space that holds nothing always has room.
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
 * The uploads and answers that have to end so that `asking` may hold `bytes` more; `null` if it is refused. `holders` are all
 * calls, the oldest first, including `asking`. A call that is alone in its space, and in the process, gets all bytes that it asks for.
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
  // Spaces that want the same amount would otherwise end each other's calls in turn.
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

/**
 * The calls that end so that `asking` gets their bytes: slow ones, the slowest first. If `asking` is the spared oldest upload and is
 * prompt, also prompt uploads, the youngest first.
 */
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

/** The calls that are not fast enough for the bytes that they hold, the slowest first. */
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

/** The oldest upload that is prompt, or began a short time ago. */
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
