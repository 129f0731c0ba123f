import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { exportCollection } from '../../functions/collections/export-collection.ts';
import { inspectCollection } from '../../functions/collections/inspect-collection.ts';
import { listCollectionNames } from '../../functions/collections/read-policy.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import { inspectionText } from '../../functions/groups/collections/inspection-text.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { allOf } from './records-query.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

/** SHA-256 of all answers below, the same on every provider. */
const ANSWERS = 'eaeaef27d66d6ab35282859feb49af3f165f12f69416140edbd21524344aceea';

const policy = {
  name: 'articles',
  vectorPolicies: [
    { name: 'body', path: '/vectors/body/values', dimensions: 3 },
    { name: '2', path: '/vectors/2/values', dimensions: 2, distanceFunction: 'dotProduct' },
  ],
  indexedMetadata: ['/metadata/year', '/metadata/tag', '/updatedAt', '/vectors/body/values/0'],
};

const partitions = ['2026', 'a/b', '\u0001', '\u0002\u0001', '😀', '\uE000', 'p'.repeat(400)];
const tags = ['x', '😀', '\uE000', null, true, 7, 'x'.repeat(900)];

function recordTexts(): string[] {
  return Array.from({ length: 42 }, (_, n) => {
    const tag = JSON.stringify(tags[n % tags.length]);
    const metadata = `{"tag":${tag},"10":${n}.50,"1":[{"b":1,"a":2}],"year":${2000 + (n % 9)}}`;
    const vectors = n % 3 === 0 ? `,"vectors":{"body":{"values":[${n}.1,-0,1e-7],"model":"m${n % 2}"}}` : '';
    const type = n % 4 === 0 ? ',"type":"rag.chunk"' : '';
    return `{"zz":${n}e1,"metadata":${metadata},"id":"${n % 5 === 0 ? 'é' : ''}${n}","partitionKey":${JSON.stringify(partitions[n % 7])}${type}${vectors}}`;
  });
}

const queries = [
  {},
  { limit: 5 },
  { partitionKeys: ['😀', '\u0001', 'p'.repeat(400)] },
  {
    filter: { path: '/metadata/year', op: 'gte', value: 2004 },
    orderBy: [{ path: '/metadata/year', direction: 'desc' }],
  },
  { filter: { path: '/metadata/tag', op: 'in', value: ['x', 7, null, 'x'.repeat(900)] }, limit: 4 },
  { filter: { path: '/metadata/tag', op: 'startsWith', value: 'xxx' } },
  {
    filter: { path: '/vectors/body/values/0', op: 'lt', value: 10 },
    orderBy: [{ path: '/metadata/tag' }],
    limit: 3,
  },
  {
    filter: {
      combine: 'any',
      children: [
        { path: '/type', value: 'rag.chunk' },
        { path: '/zz', op: 'gt', value: 300 },
      ],
    },
  },
  { filter: { path: '/metadata/year', op: 'gt', value: 'text' } },
  { continuationToken: 'LTE=' },
];

async function answers(stage: RecordsStage): Promise<string[]> {
  const { parts, space } = stage;
  const said: string[] = [];
  const say = async (answer: Promise<unknown>) => {
    const value = await answer.catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      return { code: error.code, message: error.message, ...error.extensions };
    });
    said.push(JSON.stringify(value) ?? 'nothing');
  };
  await say(upsertRecord(parts, space, 'articles', '{"id":"1","partitionKey":"p"}', null));
  await stage.create(policy);
  await stage.create({ name: 'B' });
  const items = recordTexts().map((text) => ({ text }));
  for (let at = 0; at < items.length; at += 20) {
    await say(
      writeChunk(parts, space, { name: 'articles' }, items.slice(at, at + 20), { continueOnError: true }),
    );
    stage.world.advance(1_500);
  }
  await say(upsertRecord(parts, space, 'articles', recordTexts()[7] ?? '', { ifMatch: '"rev:1"' }));
  await say(upsertRecord(parts, space, 'articles', recordTexts()[7] ?? '', { ifMatch: 'rev:1' }));
  await say(
    upsertRecord(
      parts,
      space,
      'articles',
      '{"id":"v","partitionKey":"p","vectors":{"2":{"values":[1,2]}}}',
      null,
    ),
  );
  await say(deleteRecord(parts, space, 'articles', { partitionKey: 'a/b', id: '1' }));
  await say(getRecord(parts, space, 'articles', { partitionKey: 'a/b', id: '1' }));
  await say(getRecord(parts, space, 'articles', { partitionKey: '2026', id: '7' }));
  for (const query of queries) await say(allOf(stage, 'articles', query));
  await say(listCollectionNames(parts, space));
  for (const request of [{ maxRecords: 10 }, { maxRecords: 10, failOnLimitExceeded: false }, {}]) {
    const exported = exportCollection(parts, space, 'articles', request);
    await say(
      exported.then(({ records, continuationToken, contentHash }) => [
        records,
        continuationToken,
        contentHash,
      ]),
    );
  }
  const inspected = await inspectCollection(parts, space, 'articles', 5);
  said.push(inspectionText(inspected, '2026-01-01T00:00:00.000Z', inspected.inspection.anomalies));
  return said;
}

export function describeRecordScenario({ store }: RecordsConformance): void {
  test('one scenario has the same answers, byte by byte', async () => {
    const said = await answers(new RecordsStage(store()));
    expect(said.filter((text) => text.includes('"code"'))).toHaveLength(6);
    expect(hash('sha256', said.join('\n'))).toBe(ANSWERS);
  });

  describe('an export', () => {
    test('keeps its hash when its records are written again', async () => {
      const stage = new RecordsStage(store());
      await stage.create(policy);
      const items = recordTexts().map((text) => ({ text }));
      await writeChunk(stage.parts, stage.space, { name: 'articles' }, items, { continueOnError: false });
      const first = await exportCollection(stage.parts, stage.space, 'articles', {});
      expect(first.records).toHaveLength(42);
      const again = new RecordsStage(store());
      await again.create(policy);
      const copies = first.records.map((text) => ({ text }));
      await writeChunk(again.parts, again.space, { name: 'articles' }, copies, { continueOnError: false });
      const second = await exportCollection(again.parts, again.space, 'articles', {});
      expect(second.contentHash).toBe(first.contentHash);
      expect(second.records).toEqual(first.records);
    });
  });
}
