import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operations } from '../contracts/generated/operations.ts';
import { type Ceilings, handlerFiles, loweredCeilings, reachedFrom } from './reached-files/count.ts';
import { countsOf, reachedFiles, readCeilings } from './reached-files/project.ts';

const root = resolve(import.meta.dirname, '..');
const reached = reachedFiles(root);

function ceilingFaults(counts: ReadonlyMap<string, number>, ceilings: Ceilings): string[] {
  const unknown = Object.keys(ceilings.operations).filter((operation) => !counts.has(operation));
  const exceeded = [...counts].flatMap(([operation, count]) => {
    const most = ceilings.operations[operation] ?? ceilings.otherwise;
    return count > most ? [`${operation} reaches ${count} files, ${most} are allowed`] : [];
  });
  return [...unknown.map((operation) => `${operation} is no operation`), ...exceeded];
}

describe('the files that an operation reaches', () => {
  test('are counted for each operation of the catalogue', () => {
    expect([...reached.keys()].sort()).toEqual(Object.keys(operations).sort());
    for (const files of reached.values()) expect(files.length).toBeGreaterThan(0);
  });

  test('are no more than its ceiling allows', () => {
    expect(ceilingFaults(countsOf(reached), readCeilings(root))).toEqual([]);
  });

  test('are a fault above the ceiling, and so is a ceiling of no operation', () => {
    const ceilings = { otherwise: 2, operations: { getParcel: 5, moveParcel: 5 } };
    const counts = new Map([
      ['getParcel', 6],
      ['putParcel', 3],
      ['listParcels', 2],
    ]);
    expect(ceilingFaults(counts, ceilings)).toEqual([
      'moveParcel is no operation',
      'getParcel reaches 6 files, 5 are allowed',
      'putParcel reaches 3 files, 2 are allowed',
    ]);
  });

  test('are too many with a planted import of another room', () => {
    const file = 'functions/groups/records/handlers.ts';
    const text = readFileSync(join(root, file), 'utf8').replace(
      'searchRecords(own)',
      'ingestDocument(searchRecords(own))',
    );
    const imported = `import { ingestDocument } from '../../rag/ingest.ts';\n${text}`;
    const planted = reachedFiles(root, new Map([[file, imported]]));
    expect(ceilingFaults(countsOf(planted), readCeilings(root))).toEqual([
      expect.stringMatching(/^searchRecords reaches \d+ files, \d+ are allowed$/),
    ]);
  });
});

describe('reached files', () => {
  const texts = new Map([
    ['a/one.ts', `import { two } from './two.ts';\nimport type { Three } from './three.ts';`],
    ['a/two.ts', `import {\n  five,\n  type Six,\n} from '../b/five.ts';\nawait import('./four.ts');`],
    ['b/five.ts', `export type { Seven } from './seven.ts';\nexport { eight } from './eight.ts';`],
    [
      'b/eight.ts',
      `import { one } from '../a/one.ts';\nimport { x } from '../c/generated/x.ts';\nimport 'node:fs';`,
    ],
  ]);
  const from = (path: string) => reachedFrom([path], (each) => texts.get(each));

  test('follow values, also in a circle, and neither types, import() nor generated files', () => {
    expect(from('a/one.ts')).toEqual(['a/one.ts', 'a/two.ts', 'b/eight.ts', 'b/five.ts']);
  });

  test('begin with the files that make the handler', () => {
    const text = [
      `import { listing } from '../../jobs/job-operations.ts';`,
      `import { getParcel as read } from './get-parcel.ts';`,
      `import { views as makeViews } from './views.ts';`,
      `import type { Own } from './own.ts';`,
      'export function parcelHandlers(own: Own) {',
      '  const views = makeViews(own);',
      '  return {',
      '    getParcel: read(own),',
      '    listParcels: listing(own, views),',
      '  };',
      '}',
    ].join('\n');
    expect([...handlerFiles('functions/groups/parcels/handlers.ts', text)]).toEqual([
      ['getParcel', ['functions/groups/parcels/get-parcel.ts']],
      ['listParcels', ['functions/jobs/job-operations.ts', 'functions/groups/parcels/views.ts']],
    ]);
  });
});

test('ceilings are lowered to what is reached, never raised, and forget what is gone', () => {
  const counts = new Map([
    ['putParcel', 3],
    ['getParcel', 6],
    ['newParcel', 1],
  ]);
  const ceilings = { otherwise: 9, operations: { getParcel: 5, putParcel: 4, moveParcel: 5 } };
  expect(loweredCeilings(counts, ceilings)).toEqual({
    otherwise: 9,
    operations: { getParcel: 5, newParcel: 1, putParcel: 3 },
  });
});
