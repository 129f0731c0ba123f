import { pointerTo, ServiceError } from './errors.ts';
import { finished } from './turns.ts';

/**
 * The members that hold floats (vectors, scores, weights), as JSON Pointers; `*` stands for any name or position, and a final `**`
 * for everything below. Their numbers may round to a double, except integers. Any other number that a double changes is refused,
 * because the service would store another number.
 */
export type FloatMembers = readonly string[];

/** The rest of each pointer below a container. */
type Patterns = readonly (readonly string[])[];

interface Frame {
  readonly floats: Patterns;
  readonly isArray: boolean;
  /** The name of the member that is being read. */
  name: string;
  index: number;
}

/** A literal of this length without an exponent has at most 15 digits, which a double keeps. */
const KEPT_LENGTH = 15;
/** A regular expression skips the numbers of a vector many times as fast as a loop. */
const bracketOrQuote = /["[\]{}]/g;
const STEP_LENGTH = 16 * 1024;
const backslash = /\\/;
const hasExponent = /[eE]/;
const notInteger = /[.eE]/;

export interface ExactOptions {
  readonly floats?: FloatMembers | undefined;
  /** Leads to the text, for a refusal. */
  readonly pointer?: string | undefined;
  /** Checks only integers, or only numbers that no double holds. */
  readonly only?: 'integers' | 'overflowing';
}

/** Reads a valid text, whole or in parts that end between tokens; throws at the first number that a double changes. */
export class ExactNumbers {
  /** The open containers. The first frame stands for the whole text: its name is the empty one before the first slash of a pointer. */
  readonly #frames: [Frame, ...Frame[]];
  readonly #pointer: string;
  readonly #only: ExactOptions['only'];
  #isName = false;

  constructor({ floats = [], pointer = '', only }: ExactOptions = {}) {
    this.#frames = [{ floats: floats.map((each) => each.split('/')), isArray: false, name: '', index: 0 }];
    this.#pointer = pointer;
    this.#only = only;
  }

  run(text: string): void {
    finished(this.runInSteps(text));
  }

  /** As `run`, in steps of about a thousand numbers. */
  *runInSteps(text: string): Generator<void, void> {
    let step = STEP_LENGTH;
    for (let at = 0; at < text.length; ) {
      if (at >= step) {
        step = at + STEP_LENGTH;
        yield;
      }
      const code = text.charCodeAt(at);
      if (code === 0x22) {
        const end = endOfString(text, at);
        if (this.#isName) this.#last.name = nameIn(text.slice(at, end));
        this.#isName = false;
        at = end;
        continue;
      }
      if (code === 0x7b || code === 0x5b) {
        at = this.#open(text, at, code === 0x5b);
        continue;
      }
      if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        const end = endOfLiteral(text, at);
        if (end - at > 1) this.#judge(text.slice(at, end));
        at = end;
        continue;
      }
      if (code === 0x2c) this.#next();
      // An extra bracket closes nothing: the parser refuses the text.
      else if ((code === 0x7d || code === 0x5d) && this.#frames.length > 1) this.#frames.pop();
      at += 1;
    }
  }

  get #last(): Frame {
    return this.#frames.at(-1) ?? this.#frames[0];
  }

  #next(): void {
    const last = this.#last;
    last.index += 1;
    this.#isName = !last.isArray;
  }

  /** The position after the bracket; the position of the next bracket if only floats may stand between. */
  #open(text: string, at: number, isArray: boolean): number {
    const floats = below(this.#last);
    this.#frames.push({ floats, isArray, name: '', index: 0 });
    this.#isName = !isArray;
    if (!isArray || !floats.some(([name, ...more]) => name === '**' || (name === '*' && more.length === 0)))
      return at + 1;
    bracketOrQuote.lastIndex = at + 1;
    return bracketOrQuote.test(text) ? bracketOrQuote.lastIndex - 1 : text.length;
  }

  #judge(literal: string): void {
    if (literal.length <= KEPT_LENGTH && !hasExponent.test(literal)) return;
    const overflows = !Number.isFinite(Number(literal));
    if (this.#only === 'overflowing' && !overflows) return;
    if ((this.#only === 'integers' && notInteger.test(literal)) || isExact(literal)) return;
    if (below(this.#last).some((rest) => rest.length === 0 || rest[0] === '**')) return;
    const pointer = this.#frames
      .slice(1)
      .reduce((path, frame) => pointerTo(path, keyOf(frame)), this.#pointer);
    const why = overflows ? ': it is too large' : ' exactly: write fewer digits, or a string';
    const detail = `must be a number that a double holds${why}`;
    throw new ServiceError(
      'malformed_request',
      `The service cannot store a number of the body exactly: it ${detail}.`,
      {
        errors: [{ pointer, detail }],
      },
    );
  }
}

function keyOf({ isArray, index, name }: Frame): string {
  return isArray ? String(index) : name;
}

/** The rest of each pointer at the member that is being read. */
function below(frame: Frame): Patterns {
  if (frame.floats.length === 0) return frame.floats;
  const key = keyOf(frame);
  return frame.floats.flatMap((rest) => {
    const [name, ...more] = rest;
    if (name === '**') return [rest];
    return name === '*' || name === key ? [more] : [];
  });
}

function nameIn(text: string): string {
  if (!backslash.test(text)) return text.slice(1, -1);
  try {
    return JSON.parse(text) as string;
  } catch {
    return '';
  }
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === 0x5c) before -= 1;
  return (at - before) % 2 === 1;
}

function endOfLiteral(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** A digit, a dot, an exponent or a sign. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || isExponent(code) || code === 0x2b || code === 0x2d;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isExponent(code: number): boolean {
  return code === 0x65 || code === 0x45;
}

/**
 * Whether the decimal value of a number is that of the shortest decimal of its double. A large integer is written as canonical
 * JSON writes it, too.
 */
export function isExact(literal: string): boolean {
  const value = Number(literal);
  const shortest = String(value);
  if (shortest === literal) return true;
  if (!notInteger.test(literal)) return Number.isSafeInteger(value);
  // Both texts lie within one rounding, so equal digits have equal exponents.
  return digitsOf(literal) === digitsOf(shortest);
}

/** Without zeros at both ends; empty for zero. */
function digitsOf(literal: string): string {
  const [mantissa = ''] = literal.split(hasExponent);
  const digits = mantissa.replace('-', '').replace('.', '');
  let [start, end] = [0, digits.length];
  while (digits.charCodeAt(start) === 0x30) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(start, end);
}
