import { expect, test } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { readRecord } from '../../functions/collections/rules/record-text.fixture.ts';
import { recordJson } from '../../functions/collections/rules/stored-text.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { forAll } from '../support/effort.ts';
import { valid } from './arbitrary.ts';
import { contractModels, SchemaSet } from './schema-set.ts';

/** The service stores the text of a record as its writer sent it, so the model of the answer allows what the request may hold. */

const DIMENSIONS = 3;
const policy = readPolicy({
  name: 'articles',
  vectorPolicies: [{ name: 'embedding', path: '/vectors/embedding/values', dimensions: DIMENSIONS }],
});
const stamp = {
  revision: 1,
  createdAt: '2026-01-02T03:04:05.000Z',
  updatedAt: '2026-01-02T03:04:05.000Z',
};

/** Collects the faults of the answers to `count` drawn records, and counts the records that the rules accept. */
async function drawAnswers(set: SchemaSet, count: number) {
  let accepted = 0;
  const faults = new Set<string>();
  await forAll('record answers', count, valid(set, 'SvcRecordInput'), async (record) => {
    const answer = answerTo(withKnownVector(record));
    if (answer === null) return;
    accepted += 1;
    const fault = set.fault('SvcRecord', parseJson(answer));
    if (fault !== null) faults.add(fault);
  });
  return { accepted, faults: [...faults] };
}

/** The text of the stored record; `null` where the rules refuse it. */
function answerTo(record: Json): string | null {
  try {
    const { text, vectors } = readRecord(JSON.stringify(record), policy);
    return recordJson({ ...stamp, text, hasVectors: vectors.size > 0 });
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/** The record with its first vector under the name and the size that the policy asks for. */
function withKnownVector(record: Json): Json {
  const { vectors, ...others } = record as Record<string, Json>;
  const [drawn] = Object.values((vectors ?? {}) as Record<string, object>);
  if (drawn === undefined) return record;
  const { dimensions: _, datatype: __, distanceFunction: ___, ...free } = drawn as Record<string, Json>;
  return { ...others, vectors: { embedding: { ...free, values: Array(DIMENSIONS).fill(0.5) } } };
}

test('the model of a record allows each record that the service accepts', async () => {
  const { accepted, faults } = await drawAnswers(contractModels(), 400);
  expect(accepted).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});

test('a model that allows less than the service accepts is found', async () => {
  const { models } = contractModels();
  const source = models.get('SvcSourceReference');
  const narrow = { ...source, properties: { ...source?.properties, id: { type: 'string' } } };
  const set = new SchemaSet({ ...Object.fromEntries(models), SvcSourceReference: narrow });
  const { faults } = await drawAnswers(set, 400);
  expect(faults).toContain('/sources/0/id breaks #/$defs/SvcSourceReference/properties/id/type');
});
