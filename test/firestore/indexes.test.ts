import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../functions/store/firestore/indexes.ts';

interface Override {
  readonly collectionGroup: string;
  readonly fieldPath: string;
  readonly indexes: readonly { readonly order: string; readonly queryScope: string }[];
}

const root = join(import.meta.dirname, '..', '..');
interface Composite {
  readonly collectionGroup: string;
  readonly queryScope: string;
  readonly fields: readonly {
    readonly fieldPath: string;
    readonly vectorConfig?: { readonly dimension: number };
  }[];
}
const file = readJson('infra/firestore.indexes.json') as {
  readonly indexes: readonly Composite[];
  readonly fieldOverrides: readonly Override[];
};
const recordGroups = [...new Set(file.fieldOverrides.map(({ collectionGroup }) => collectionGroup))].filter(
  (group) => !['tenants', 'spaces', 'system'].includes(group),
);

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function sources(folder: string): { name: string; text: string }[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => ({ name, text: readFileSync(join(root, folder, name), 'utf8') }));
}

/** Maps that queries order or filter by: a field path named in a file that queries, and not only selected there. */
function orderedFields(): string[] {
  const fields = new Set<string>();
  for (const { text } of sources('functions/store/firestore')) {
    for (const [, variable, field = ''] of text.matchAll(/const (\w+) = new FieldPath\('(\w+)'/g)) {
      if (new RegExp(`(where|orderBy)\\(${variable}\\b`).test(text)) fields.add(field);
    }
    for (const [, field = ''] of text.matchAll(/(?:where|orderBy)\((?:new FieldPath\()?'(\w+)'/g)) {
      if (field !== '__name__') fields.add(field);
    }
  }
  return [...fields].sort();
}

function overridesOf(group: string): Map<string, string[]> {
  const overrides = file.fieldOverrides.filter(({ collectionGroup }) => collectionGroup === group);
  return new Map(
    overrides.map(({ fieldPath, indexes }) => [fieldPath, indexes.map(({ order }) => order).sort()]),
  );
}

test('exactly the fields that queries order or filter by are indexed', () => {
  expect(orderedFields()).toEqual([
    'due',
    'order',
    'partOrder',
    'searchGroup',
    'searchOrder',
    'slots',
    'terms',
  ]);
  for (const group of recordGroups) {
    expect(Object.fromEntries(overridesOf(group))).toEqual({
      '*': [],
      due: ['ASCENDING'],
      order: ['ASCENDING', 'DESCENDING'],
      partOrder: ['ASCENDING', 'DESCENDING'],
      ...(group === 'records' ? { slots: ['DESCENDING'] } : {}),
    });
  }
  for (const kind of ['tenants', 'spaces', 'system'])
    expect(Object.fromEntries(overridesOf(kind))).toEqual({ '*': [] });
  expect(
    file.fieldOverrides
      .flatMap(({ indexes }) => indexes)
      .every(({ queryScope }) => queryScope === 'COLLECTION'),
  ).toBe(true);
});

test('searches have an index of terms and one for each vector field, all within one group of records', () => {
  const texts = file.indexes.map(({ collectionGroup, queryScope, fields }) => {
    const parts = fields.map(({ fieldPath, vectorConfig }) => `${fieldPath}${vectorConfig?.dimension ?? ''}`);
    return `${collectionGroup} ${queryScope} ${parts.join()}`;
  });
  const vectors = [64, 384, 768, 1024, 1536].flatMap((dimensions) =>
    ['a', 'b', 'c', 'd'].map((letter) => `searchGroup,__name__,v${dimensions}${letter}${dimensions}`),
  );
  expect(texts).toEqual(
    ['searchGroup,terms,searchOrder', ...vectors].map((fields) => `records COLLECTION ${fields}`),
  );
  // https://firebase.google.com/docs/firestore/quotas: a database without billing has at most 200 composite indexes.
  expect(texts.length).toBeLessThan(200);
});

test('the file equals the indexes of the declared collections', () => {
  expect(file).toEqual(firestoreIndexes(serviceCollections));
});

test('the list has every collection that the service declares', () => {
  const declared = new Set<string>();
  for (const { text } of sources('functions')) {
    for (const [, name = ''] of text.matchAll(/\{\s*name: '([\w-]+)',\s*pairedIndexes: (?:true|false)/g))
      declared.add(name);
  }
  expect(recordGroups).toEqual(expect.arrayContaining([...declared]));
});

test('the tools find rules and indexes, and the rules deny all access', () => {
  const firebase = readJson('firebase.json') as { firestore: { rules: string; indexes: string } };
  expect(firebase.firestore).toEqual({
    rules: 'infra/firestore.rules',
    indexes: 'infra/firestore.indexes.json',
  });
  const rules = readFileSync(join(root, firebase.firestore.rules), 'utf8');
  expect(rules.match(/allow .*/g)).toEqual(['allow read, write: if false;']);
});
