import { expect, test } from 'vitest';
import { readAnomalyLimit, readExamination, readMaxRecords } from './read-examination.ts';
import {
  ANOMALIES_DEFAULT,
  ANOMALIES_MAX,
  GRAPH_RECORDS_MAX,
  TARGET_RECORDS_DEFAULT,
} from './rules/limits.ts';

const refusal = (pointer: string, words: string) =>
  expect.objectContaining({
    code: 'validation_failed',
    extensions: { errors: [expect.objectContaining({ pointer, detail: expect.stringContaining(words) })] },
  });

test('a number of records has a default and bounds', () => {
  expect([null, undefined, 1, GRAPH_RECORDS_MAX].map((given) => readMaxRecords(given))).toEqual([
    GRAPH_RECORDS_MAX,
    GRAPH_RECORDS_MAX,
    1,
    GRAPH_RECORDS_MAX,
  ]);
  for (const given of [0, 1.5, GRAPH_RECORDS_MAX + 1])
    expect(() => readMaxRecords(given)).toThrow(refusal('/maxRecords', `from 1 to ${GRAPH_RECORDS_MAX}`));
});

test('a number of anomalies has a default and bounds', () => {
  expect([null, 0, ANOMALIES_MAX].map((given) => readAnomalyLimit(given))).toEqual([
    ANOMALIES_DEFAULT,
    0,
    ANOMALIES_MAX,
  ]);
  for (const given of [-1, 0.5, ANOMALIES_MAX + 1])
    expect(() => readAnomalyLimit(given)).toThrow(refusal('/anomalyLimit', `from 0 to ${ANOMALIES_MAX}`));
});

test('an examination names a target only with the name of a collection', () => {
  expect(readExamination({ targetCollection: ' ' })).toEqual({
    maxRecords: GRAPH_RECORDS_MAX,
    anomalyLimit: ANOMALIES_DEFAULT,
    target: null,
  });
  const asked = { targetCollection: ' notes ', targetPartitionKeys: ['p'], seedJsonPointers: ['/a'] };
  expect(readExamination(asked).target).toEqual({
    name: 'notes',
    partitionKeys: ['p'],
    pointers: ['/a'],
    maxRecords: TARGET_RECORDS_DEFAULT,
  });
  expect(readExamination({ ...asked, targetPartitionKeys: [] }).target?.partitionKeys).toBeNull();
});

test('a refusal of an examination names its member', () => {
  expect(() => readExamination({ maxGraphRecords: 0 })).toThrow(refusal('/maxGraphRecords', 'whole number'));
  const target = { targetCollection: 'notes', maxTargetRecords: 0 };
  expect(() => readExamination(target)).toThrow(refusal('/maxTargetRecords', 'whole number'));
});
