import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../../../test/support/finish.ts';
import { firstOverlap, recordMatches } from './matches.ts';
import { idsOf, isObject, judgedRecord, type MatchRequest, type SourceReference } from './matching.ts';

/** A second implementation, which compares each pair. */
const isNamed = (value: unknown) => typeof value === 'string' && value !== '';
const isScalar = (value: unknown) => isNamed(value) || typeof value === 'number';

function holdsSource(wanted: SourceReference, held: SourceReference): boolean {
  const equal = (['id', 'kind', 'uri'] as const).filter((name) => isNamed(wanted[name]));
  const span = isObject(wanted.span) ? wanted.span : {};
  const given = ['charStart', 'charEnd', 'line', 'column', 'anchor'].filter((name) => isScalar(span[name]));
  if (equal.length + given.length === 0) return false;
  if (equal.some((name) => wanted[name] !== held[name])) return false;
  if (given.length === 0) return true;
  if (!isObject(held.span)) return false;
  const { charStart, charEnd } = held.span;
  return given.every((name) => {
    const value = span[name];
    if (name === 'charStart')
      return typeof value !== 'number' || (typeof charStart === 'number' && charStart <= value);
    if (name === 'charEnd')
      return typeof value !== 'number' || (typeof charEnd === 'number' && charEnd >= value);
    return value === (held.span as Record<string, unknown>)[name];
  });
}

const sharesId = (one: MatchRequest, ids: ReadonlySet<string>) => idsOf(one).some((id) => ids.has(id));
const sourcesOf = ({ sources }: MatchRequest) => sources ?? [];

function overlaps(one: MatchRequest, other: MatchRequest): boolean {
  for (const name of ['collection', 'partitionKey'] as const)
    if (isNamed(one[name]) && isNamed(other[name]) && one[name] !== other[name]) return false;
  if (sharesId(one, new Set(idsOf(other)))) return true;
  return sourcesOf(one).some((a) => sourcesOf(other).some((b) => holdsSource(a, b) || holdsSource(b, a)));
}

const maybe = <Value>(...values: Value[]) => fc.constantFrom(undefined, null, ...values);
const span = fc.record({
  charStart: maybe<unknown>(1, 5, '1'),
  charEnd: maybe<unknown>(4, 9, ''),
  line: maybe<unknown>(1, '1', [1]),
  column: maybe<unknown>(2),
  anchor: maybe<unknown>('a', ''),
});
const source = fc.record({
  id: maybe('s1', 's2', ''),
  kind: maybe('k1', 'k2'),
  uri: maybe('u1', 'u2'),
  span: fc.oneof(maybe<unknown>('x', []), span, span),
}) as fc.Arbitrary<SourceReference>;
const match = fc.record({
  id: maybe('r1', 'x', ''),
  collection: maybe('c1', 'c2', ''),
  partitionKey: maybe('p1', 'p2'),
  aliases: maybe<string[]>(['al'], []),
  sources: fc.oneof(maybe<SourceReference[]>(), fc.array(source, { maxLength: 4 })),
}) as fc.Arbitrary<MatchRequest>;
const matches = fc.array(match, { maxLength: 5 });
const record = fc.record({
  place: fc.record({
    collection: fc.constantFrom('c1', 'c2'),
    partitionKey: fc.constantFrom('p1', 'p2'),
    id: fc.constantFrom('r1', 'r2'),
  }),
  sources: fc.array(fc.record({ kind: maybe('k1'), uri: maybe('u1'), span }), { maxLength: 4 }),
});
const runs = { numRuns: 3_000 };

describe('the matches of an evaluation', () => {
  test('equal those of a second implementation, record by record', () => {
    let found = 0;
    const property = fc.property(matches, fc.array(record, { maxLength: 4 }), (all, records) => {
      const judged = records.map(({ place, sources }) =>
        judgedRecord(place, { metadata: { alias: 'al' }, sources: JSON.parse(JSON.stringify(sources)) }),
      );
      const known = all.map((each) =>
        judged.map(
          ({ collection, partitionKey, names, sources }) =>
            overlaps(
              { collection: each.collection ?? null, partitionKey: each.partitionKey ?? null, id: 'a' },
              { collection, partitionKey, id: 'a' },
            ) &&
            (sharesId(each, names) || sourcesOf(each).some((a) => sources.some((b) => holdsSource(a, b)))),
        ),
      );
      found += known.flat().filter(Boolean).length;
      expect(finish(recordMatches(all, judged))).toEqual(known);
    });
    fc.assert(property, runs);
    expect(found).toBeGreaterThan(150);
  });

  test('equal those of a second implementation if many sources differ only in their spans', () => {
    const end = fc.option(fc.integer({ min: 0, max: 9 }), { nil: null, freq: 8 });
    const spans = fc.array(fc.record({ charStart: end, charEnd: end }), { minLength: 1, maxLength: 8 });
    const place = { collection: 'c', partitionKey: 'p', id: 'r' };
    const property = fc.property(spans, spans, (held, wanted) => {
      const judged = judgedRecord(place, { sources: held.map((each) => ({ kind: 'k', span: each })) });
      const all = wanted.map((each) => ({ kind: 'k', span: each }));
      const rows = finish(
        recordMatches(
          all.map((each) => ({ sources: [each] })),
          [judged],
        ),
      );
      expect(rows).toEqual(all.map((one) => [judged.sources.some((other) => holdsSource(one, other))]));
    });
    fc.assert(property, runs);
  });

  test('overlap first at the same place as in a second implementation', () => {
    const firsts = new Map<number, number>();
    const property = fc.property(matches, matches, (expected, wrong) => {
      const at = wrong.findIndex((one) => expected.some((other) => overlaps(one, other)));
      firsts.set(at, (firsts.get(at) ?? 0) + 1);
      expect(finish(firstOverlap(expected, wrong))).toBe(at === -1 ? null : at);
    });
    fc.assert(property, runs);
    for (const at of [-1, 0, 1, 2]) expect(firsts.get(at)).toBeGreaterThan(10);
  });
});

/** The number of reads of members of sources, in all and between two steps. */
class Reads {
  all = 0;
  steps = 0;
  step = 0;
  longest = 0;

  source(members: Readonly<Record<string, unknown>>): SourceReference {
    return new Proxy(members, {
      get: (target, name) => {
        this.all += 1;
        this.step += 1;
        return Reflect.get(target, name);
      },
    });
  }

  sources(count: number, prefix: string): readonly SourceReference[] {
    const one = { kind: prefix, span: { charStart: 1, charEnd: 2 } };
    return Array.from({ length: count }, (_, at) => this.source(at % 2 === 0 ? one : { kind: prefix + at }));
  }

  finish<Result>(steps: Generator<void, Result>): Result {
    for (;;) {
      const { done, value } = steps.next();
      this.longest = Math.max(this.longest, this.step);
      this.step = 0;
      this.steps += 1;
      if (done === true) return value;
    }
  }
}

const times = <Item>(count: number, make: (at: number) => Item) =>
  Array.from({ length: count }, (_, at) => make(at));
/** Reads of members in each visit of a source: some for each of two shapes. */
const LOOK = 25;

describe('the work of an evaluation', () => {
  test.each([
    ['no hard negative', 'y', null],
    ['the last one', 'x', 199],
  ])('grows with the sources of a case, not with their pairs, if %s overlaps', (_, last, first) => {
    const reads = new Reads();
    const expected = times(100, () => ({ sources: reads.sources(100, 'x') }));
    const wrong = times(200, (at) => ({ sources: reads.sources(100, at === 199 ? last : 'y') }));
    expect(reads.finish(firstOverlap(expected, wrong))).toBe(first);
    // 30,000 sources; the search for the first overlap visits as many again, in ever smaller halves.
    expect(reads.all).toBeLessThan(30_000 * LOOK * 2);
    expect(reads.steps).toBeLessThan(30_000 * 2);
    expect(reads.longest).toBeLessThan(100 * LOOK);
  });

  test('grows with the sources of a record, not with the sources of the matches', () => {
    const reads = new Reads();
    const wanted = times(300, () => ({ sources: reads.sources(100, 'x') }));
    const place = { collection: 'c', partitionKey: 'p' };
    const records = times(10, (at) => ({
      ...place,
      id: `r${at}`,
      names: new Set<string>(),
      sources: reads.sources(200, 'z'),
    }));
    const rows = reads.finish(recordMatches(wanted, records));
    expect(rows.flat().some(Boolean)).toBe(false);
    expect(reads.all).toBeLessThan((30_000 + 2_000) * LOOK);
    // A step for each match, each source of a record, and each pair of a match and a record.
    expect(reads.steps).toBeLessThanOrEqual(300 + 2_000 + 3_000 + 1);
    expect(reads.longest).toBeLessThan(100 * LOOK);
  });
});
