import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../kernel/canonical-json.ts';
import { isCandidate } from './driver.fixture.ts';
import { chooseDriver, type QueryDriver } from './driver.ts';
import { filters, matches } from './filter.fixture.ts';
import { type FilterNode, readFilter } from './filter.ts';
import { readPartitionKeys } from './judge.ts';
import { projectedPaths, projectValues } from './projection.ts';
import { indexedPaths, records } from './record.fixture.ts';
import type { RecordValue } from './record-key.ts';

const runs = { numRuns: 6_000 };
/** A search for a planted fault ends when it finds one, so it may be long. */
const search = { numRuns: 100_000, endOnFailure: true };
const partitions = fc.option(fc.array(fc.constantFrom('p', 'q', '😀', 'other'), { maxLength: 2 }), {
  freq: 3,
});
const projected = projectedPaths(indexedPaths);

type Judge = (record: RecordValue, node: FilterNode, partitionKeys: readonly string[] | null) => boolean;

const judge: Judge = (record, node, partitionKeys) =>
  matches(record, {
    partitionKeys: readPartitionKeys(partitionKeys),
    filter: readFilter(node, indexedPaths),
  });

/** The same rule once more, straight on the request: three answers, of which `null` is "says nothing". */
function naive(record: RecordValue, node: FilterNode, partitionKeys: readonly string[] | null): boolean {
  const inPartition =
    (partitionKeys ?? []).length === 0 || (partitionKeys ?? []).includes(record.partitionKey);
  return inPartition && naiveNode(record, node) !== false;
}

function naiveNode(record: RecordValue, node: FilterNode): boolean | null {
  if (node.children && (node.combine ?? '').trim() !== '') {
    const answers = node.children
      .map((child) => naiveNode(record, child))
      .filter((answer) => answer !== null);
    if (answers.length === 0) return null;
    return /^any$/i.test(node.combine ?? '') ? answers.includes(true) : !answers.includes(false);
  }
  if ((node.path ?? '').trim() === '') return null;
  const found: { value?: Json } = {};
  let at: unknown = record;
  for (const segment of (node.path ?? '').split(/[./$]/).filter((each) => each !== '')) {
    const names = typeof at === 'object' && at !== null ? Object.keys(at) : [];
    const top = at === record && /^(id|partitionkey|updatedat|revision)$/i.test(segment);
    const name = names.find((each) =>
      top ? each.toLowerCase() === segment.toLowerCase() : each === segment,
    );
    if (name === undefined) return naiveLeaf(found, node);
    at = (at as Record<string, unknown>)[name];
  }
  return naiveLeaf({ value: at as Json }, node);
}

function naiveLeaf(found: { value?: Json }, node: FilterNode): boolean {
  const op = (node.op ?? 'eq').trim().toLowerCase();
  const present = 'value' in found;
  const same = (operand: Json | undefined) =>
    present &&
    (found.value === null || typeof found.value !== 'object') &&
    (typeof found.value === 'number' && typeof operand === 'number'
      ? found.value - operand === 0
      : JSON.stringify(found.value) === JSON.stringify(operand ?? null));
  const order = () => {
    const { value } = found;
    if (typeof value !== typeof node.value) return Number.NaN;
    if (typeof value === 'string')
      return Buffer.compare(Buffer.from(value), Buffer.from(node.value as string));
    return typeof value === 'number' ? Math.sign(value - (node.value as number)) : Number.NaN;
  };
  const text = typeof found.value === 'string' ? found.value : null;
  const answers: Record<string, () => boolean> = {
    eq: () => same(node.value),
    neq: () => present && !same(node.value),
    in: () => (node.value as Json[]).some(same),
    gt: () => order() > 0,
    gte: () => order() >= 0,
    lt: () => order() < 0,
    lte: () => order() <= 0,
    exists: () => present === (node.value ?? true),
    contains: () => text !== null && Buffer.from(text).indexOf(node.value as string) >= 0,
    startswith: () => text !== null && text.slice(0, (node.value as string).length) === node.value,
  };
  const answer = answers[op];
  if (answer === undefined) throw new Error(`no answer for ${op}`);
  return answer();
}

function disagreement(other: Judge, parameters = runs) {
  const property = fc.property(records, filters, partitions, (record, node, keys) => {
    expect(other(record, node, keys)).toBe(naive(record, node, keys));
  });
  return fc.check(property, parameters).counterexample;
}

describe('the judge', () => {
  test('agrees with a second implementation', () => {
    expect(disagreement(judge)).toBeNull();
  });

  const planted: [string, Judge][] = [
    ['any as all', (record, node, keys) => judge(record, asAll(node), keys)],
    [
      'no partition keys as an empty list',
      (record, node, keys) => keys?.length !== 0 && judge(record, node, keys),
    ],
    ['null as missing', (record, node, keys) => judge(withoutNull(record), node, keys)],
    ['numbers as texts', (record, node, keys) => judge(withTexts(record), node, keys)],
  ];
  test.each(planted)('the comparison finds %s', (_, wrong) => {
    expect(disagreement(wrong, search)).not.toBeNull();
  });
});

describe('the candidates of a driver', () => {
  type Choice = typeof chooseDriver;
  const missed = (choose: Choice, parameters = runs) => {
    const property = fc.property(records, filters, partitions, (record, node, keys) => {
      const condition = { partitionKeys: readPartitionKeys(keys), filter: readFilter(node, indexedPaths) };
      const entry = { partitionKey: record.partitionKey, indexes: projectValues(record, projected) };
      const driver = choose(condition, projected);
      if (matches(record, condition)) expect(isCandidate(entry, driver)).toBe(true);
    });
    return fc.check(property, parameters).counterexample;
  };

  test('contain every match', () => {
    expect(missed(chooseDriver)).toBeNull();
  });

  const planted: [string, (driver: QueryDriver) => QueryDriver][] = [
    [
      'a range without its upper bound',
      (driver) => (driver.by === 'range' ? { ...driver, to: driver.from } : driver),
    ],
    [
      'the first value of in',
      (driver) => (driver.by === 'in' ? { ...driver, values: driver.values.slice(0, 1) } : driver),
    ],
    [
      'one partition',
      (driver) => (driver.by === 'partitions' ? { ...driver, partitionKeys: ['p'] } : driver),
    ],
    [
      'an equality of another type',
      (driver) => (driver.by === 'equal' ? { ...driver, value: `s${driver.value}` } : driver),
    ],
  ];
  test.each(planted)('the comparison finds %s', (_, wrong) => {
    const faulty = (...args: Parameters<Choice>) => wrong(chooseDriver(...args));
    expect(missed(faulty, search)).not.toBeNull();
  });

  test('the comparison finds a driver from a leaf that is not required', () => {
    const faulty: Choice = (condition, paths) =>
      chooseDriver({ ...condition, filter: anyAsAll(condition.filter) }, paths);
    expect(missed(faulty, search)).not.toBeNull();
  });
});

function anyAsAll(filter: ReturnType<typeof readFilter>): typeof filter {
  if (filter === null || !('combine' in filter)) return filter;
  return { combine: 'all', children: filter.children.map((child) => anyAsAll(child) ?? child) };
}

function asAll(node: FilterNode): FilterNode {
  return node.children ? { ...node, combine: 'all', children: node.children.map(asAll) } : node;
}

function mapScalars(value: Json, change: (value: Json) => Json | undefined): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, each]) => [name, change(mapScalars(each, change))]);
  return Object.fromEntries(members.filter(([, each]) => each !== undefined)) as Json;
}

function withoutNull(record: RecordValue): RecordValue {
  return mapScalars(record, (value) => value ?? undefined) as RecordValue;
}

function withTexts(record: RecordValue): RecordValue {
  return mapScalars(record, (value) => (typeof value === 'number' ? String(value) : value)) as RecordValue;
}
