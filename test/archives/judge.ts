import type { Chronicle, Pair, Sighting } from './chronicle.ts';

/**
 * Holds what was seen against what a restore promises: at one moment, unseen until then, everything becomes what the
 * archive holds. A commit goes before that moment and is replaced, or comes after it and stays.
 *
 * A writer numbers its commits, and each overwrites the same two documents. The archives do not hold these, so after a
 * restore their revisions begin at 1 with the first commit that came after it. Hence `base`, a commit's number less its
 * revision, names the era of a commit: it stays as long as no restore comes between and no commit is lost, and grows
 * with each restore that replaces something.
 */
export function judge(chronicle: Chronicle): string[] {
  const bases = new Bases(chronicle);
  return [
    ...chronicle.faults,
    ...bases.faults,
    ...futureFaults(chronicle),
    ...orderFaults(chronicle, bases),
  ].slice(0, 20);
}

function baseOf({ n, revision }: Pair): number {
  return n - revision;
}

/** Which eras a sighting may be of. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The known era of each base, from answers that show both. */
class Bases {
  readonly faults: string[] = [];
  readonly #first: number;
  readonly #last: number;
  /** Writer → its known bases in their order, with the one era of each. */
  readonly #known = new Map<number, { readonly base: number; readonly era: number }[]>();

  constructor({ sightings, attempts }: Chronicle) {
    const eras = attempts.map(({ era }) => era);
    this.#first = Math.min(...eras);
    this.#last = Math.max(...eras);
    for (const sighting of sightings) this.#learn(sighting);
    for (const [writer, known] of this.#known) {
      known.sort((left, right) => left.base - right.base);
      known.forEach(({ base, era }, n) => {
        const before = known[n - 1];
        if (before === undefined || before.era < era) return;
        this.faults.push(
          `writer ${writer}: base ${base} is of era ${era}, and base ${before.base} of era ${before.era}: commits were lost, or came back`,
        );
      });
    }
  }

  #learn({ what, era, pairs }: Sighting): void {
    if (era === null) return;
    for (const [writer, pair] of pairs) {
      const known = this.#known.get(writer) ?? [];
      this.#known.set(writer, known);
      const same = known.find(({ base }) => base === baseOf(pair));
      if (same === undefined) known.push({ base: baseOf(pair), era });
      else if (same.era !== era) {
        this.faults.push(
          `${what}: writer ${writer} with base ${same.base} in era ${era}, seen in era ${same.era} before`,
        );
      }
    }
  }

  spanOf({ era, pairs }: Sighting): Span {
    let [from, to] = [era ?? this.#first, era ?? this.#last];
    for (const [writer, pair] of pairs) {
      const span = this.#spanOf(writer, baseOf(pair));
      [from, to] = [Math.max(from, span.from), Math.min(to, span.to)];
    }
    return { from, to };
  }

  #spanOf(writer: number, base: number): Span {
    const known = this.#known.get(writer) ?? [];
    const same = known.find((each) => each.base === base);
    if (same !== undefined) return { from: same.era, to: same.era };
    const before = known.findLast((each) => each.base < base);
    const after = known.find((each) => each.base > base);
    return {
      from: before === undefined ? this.#first : before.era + 1,
      to: after === undefined ? this.#last : after.era - 1,
    };
  }
}

/** No client sees an archive before its restore was requested. */
function futureFaults(chronicle: Chronicle): string[] {
  return chronicle.sightings.flatMap(({ what, pairs, returned }) =>
    [...pairs].flatMap(([writer, { n, revision }]) => {
      const sent = chronicle.sentAt(writer, n);
      if (sent === undefined || sent > returned)
        return [`${what}: commit ${n} of writer ${writer} was not sent yet`];
      return revision < 1 || revision > n ? [`${what}: commit ${n} cannot be revision ${revision}`] : [];
    }),
  );
}

interface Placed {
  readonly sighting: Sighting;
  /** The span of possible eras, none older than an era that an earlier answer showed. */
  from: number;
  readonly to: number;
}

/** Answers follow the order of eras: none shows an era before its restore began, or an older state of its era. */
function orderFaults(chronicle: Chronicle, bases: Bases): string[] {
  const faults: string[] = [];
  const placed: Placed[] = [...chronicle.sightings, ...restored(chronicle)].map((sighting) => {
    const { from, to } = bases.spanOf(sighting);
    return { sighting, from, to };
  });
  const byReturn = [...placed].sort((left, right) => left.sighting.returned - right.sighting.returned);
  const latest = new Map<number, Placed>();
  let past = -Infinity;
  let seen = 0;
  // A call that returned before another began was also sent before it, so it has its place by then.
  for (const each of placed.sort((left, right) => left.sighting.called - right.sighting.called)) {
    const { called, what } = each.sighting;
    for (; (byReturn[seen]?.sighting.returned ?? Infinity) < called; seen += 1) {
      const before = byReturn[seen] as Placed;
      past = Math.max(past, before.from);
      const { acknowledges } = before.sighting;
      if (acknowledges !== undefined) latest.set(acknowledges, before);
    }
    each.from = Math.max(each.from, past);
    if (each.from > each.to) faults.push(`${what}: era ${each.from} at least, and ${each.to} at most`);
    faults.push(...tooEarly(chronicle, each), ...staleFaults(each, latest));
  }
  return faults;
}

/** A restore that was answered has seen its own era. */
function restored({ attempts }: Chronicle): Sighting[] {
  return attempts.flatMap(({ era, called, returned }) =>
    returned === null
      ? []
      : [{ what: `restore of era ${era}`, era, called, returned, pairs: new Map(), whole: false }],
  );
}

function tooEarly({ attempts }: Chronicle, { sighting: { what, returned }, from }: Placed): string[] {
  const begun = attempts.find(({ era }) => era === from);
  if (begun !== undefined && begun.called < returned) return [];
  return [`${what}: era ${from}, whose restore had not begun`];
}

/** An acknowledged commit of the same era is visible. */
function staleFaults({ sighting, from, to }: Placed, latest: ReadonlyMap<number, Placed>): string[] {
  const { what, pairs, whole } = sighting;
  const faults: string[] = [];
  for (const [writer, { sighting: acknowledged, from: since }] of latest) {
    const own = acknowledged.pairs.get(writer);
    const seen = pairs.get(writer);
    if (own === undefined || (seen === undefined && !whole)) continue;
    const sameEra = since === to && from === to;
    const sameBase = seen !== undefined && baseOf(seen) === baseOf(own);
    if (sameBase ? seen.n >= own.n : !sameEra) continue;
    faults.push(`${what}: lacks commit ${own.n} of writer ${writer}, acknowledged in era ${since}`);
  }
  return faults;
}
