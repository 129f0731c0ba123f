import { equalMembers, isNamed, isObject, isScalar, type SourceReference, spanMembers } from './matching.ts';

const topMembers = ['id', 'kind', 'uri'] as const;
/** The bit of a shape for a span, after the bits of the members that must be equal. */
const SPAN = 1 << (topMembers.length + equalMembers.length);

/** A source that another source may contain, read once. */
export interface WantedSource {
  /** The members that the source names, as bits. */
  readonly shape: number;
  /** The values of the members, except the ends of the span: a source that contains it has the same key for this shape. */
  readonly key: string;
  readonly start: number | null;
  readonly end: number | null;
}

/** `null` for a source without a member that is compared. */
export function wantedSource(source: SourceReference): WantedSource | null {
  const span = isObject(source.span) ? source.span : {};
  const named = [
    ...topMembers.map((name) => isNamed(source[name])),
    ...equalMembers.map((name) => isScalar(span[name])),
    spanMembers.some((name) => isScalar(span[name])),
  ];
  const shape = named.reduce((bits, isThere, at) => (isThere ? bits | (1 << at) : bits), 0);
  if (shape === 0) return null;
  const { charStart, charEnd } = span;
  return {
    shape,
    key: keyOf(source, shape) ?? '',
    start: typeof charStart === 'number' ? charStart : null,
    end: typeof charEnd === 'number' ? charEnd : null,
  };
}

/** `null` if the source lacks a member of the shape. */
function keyOf(source: SourceReference, shape: number): string | null {
  const values: unknown[] = [shape];
  for (const [at, name] of topMembers.entries()) {
    if ((shape & (1 << at)) === 0) continue;
    if (!isNamed(source[name])) return null;
    values.push(source[name]);
  }
  if ((shape & SPAN) === 0) return JSON.stringify(values);
  const { span } = source;
  if (!isObject(span)) return null;
  for (const [at, name] of equalMembers.entries()) {
    if ((shape & (1 << (topMembers.length + at))) === 0) continue;
    if (!isScalar(span[name])) return null;
    values.push(span[name]);
  }
  return JSON.stringify(values);
}

/** The shapes of later lookups: the index needs no other sources. */
export class WantedKeys {
  readonly shapes = new Set<number>();
  readonly keys = new Set<string>();

  /** `places` are the places of the source; each is a prefix of its key. */
  add({ shape, key }: WantedSource, places: readonly string[]): void {
    this.shapes.add(shape);
    for (const place of places) this.keys.add(place + key);
  }
}

/**
 * Indexes sources by the shapes of lookups. Adding a source takes one step for each shape, and a lookup takes few steps for any
 * number of sources: evaluations compare thousands with thousands.
 */
export class HeldSources {
  readonly #wanted: WantedKeys;
  readonly #spans = new Map<string, HeldSpans>();

  constructor(wanted: WantedKeys) {
    this.#wanted = wanted;
  }

  add(source: SourceReference, places: readonly string[]): void {
    for (const shape of this.#wanted.shapes) {
      const key = keyOf(source, shape);
      if (key === null) continue;
      for (const place of places) if (this.#wanted.keys.has(place + key)) this.#at(place + key).add(source);
    }
  }

  /** Whether a source at one of the places has all members of `wanted`, and its span contains the wanted span. */
  holds({ key, start, end }: WantedSource, places: readonly string[]): boolean {
    return places.some((place) => this.#spans.get(place + key)?.hold(start, end) === true);
  }

  #at(key: string): HeldSpans {
    const known = this.#spans.get(key);
    if (known !== undefined) return known;
    const made = new HeldSpans();
    this.#spans.set(key, made);
    return made;
  }
}

/** The spans of sources whose other members are equal. */
class HeldSpans {
  #firstStart = Number.POSITIVE_INFINITY;
  #lastEnd = Number.NEGATIVE_INFINITY;
  readonly #both: { readonly start: number; end: number }[] = [];
  #isSorted = true;

  add({ span }: SourceReference): void {
    const { charStart, charEnd } = isObject(span) ? span : {};
    if (typeof charStart === 'number') this.#firstStart = Math.min(this.#firstStart, charStart);
    if (typeof charEnd === 'number') this.#lastEnd = Math.max(this.#lastEnd, charEnd);
    if (typeof charStart !== 'number' || typeof charEnd !== 'number') return;
    this.#both.push({ start: charStart, end: charEnd });
    this.#isSorted = false;
  }

  hold(start: number | null, end: number | null): boolean {
    if (start === null) return end === null || this.#lastEnd >= end;
    if (end === null) return this.#firstStart <= start;
    return this.#lastEndUpTo(start) >= end;
  }

  /** The last end of all spans that begin at `start` or before. */
  #lastEndUpTo(start: number): number {
    this.#sort();
    let low = 0;
    let high = this.#both.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#both[middle]!.start <= start) low = middle + 1;
      else high = middle;
    }
    return this.#both[low - 1]?.end ?? Number.NEGATIVE_INFINITY;
  }

  /** Sorts the spans by their starts, and gives each the last end of all before it. */
  #sort(): void {
    if (this.#isSorted) return;
    this.#both.sort((a, b) => a.start - b.start);
    let last = Number.NEGATIVE_INFINITY;
    for (const span of this.#both) {
      last = Math.max(last, span.end);
      span.end = last;
    }
    this.#isSorted = true;
  }
}
