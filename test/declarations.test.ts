import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { declaredCollections, serviceCollections } from '../functions/compose/collections.ts';
import { tenantCollections } from '../functions/groups/canonical/records.ts';
import { executionCollections } from '../functions/runs/records.ts';
import { carriedBy, type OwnedCollection } from '../functions/store/ownership.ts';

/** Every record collection declares its owner and the copies that carry it, so that no copy omits one by mistake. */

const root = resolve(import.meta.dirname, '..');
const files = globSync('functions/**/*.ts', { cwd: root }).filter(
  (path) => !/\.(test|fixture)\.ts$/.test(path) && !path.includes('groups/canonical/copies/snapshot/'),
);

const declared = (name: string) => declaredCollections.some((each) => each.name === name);

/** The collections that a source file names for a key, and declarations without an owner. */
function undeclaredIn(text: string): string[] {
  const keys = [...text.matchAll(/\bcollection: '([^']+)'/g)].map(([, name]) => name ?? '');
  const bare = [...text.matchAll(/(\w+): Collection = \{/g)].map(([, name]) => name ?? '');
  return [...keys.filter((name) => !declared(name)), ...bare];
}

/** The faults of declarations: copies would carry data of another owner, or one name has two declarations. */
function declarationFaults(collections: readonly OwnedCollection[]): readonly string[] {
  const seen = new Map<string, OwnedCollection>();
  return collections.flatMap((each) => {
    const { name, owner, copies } = each;
    const faults: string[] = [];
    if (copies !== 'none' && copies !== owner)
      faults.push(`copies of a ${copies} carry ${name}, which a ${owner} owns`);
    const other = seen.get(name) ?? each;
    if (other.owner !== owner || other.copies !== copies) faults.push(`${name} is declared in two ways`);
    seen.set(name, each);
    return faults;
  });
}

describe('the declarations of record collections', () => {
  test('cover every collection that the source names', () => {
    const found = files.flatMap((path) =>
      undeclaredIn(readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test('are missing for a planted key and a planted collection, and both are found', () => {
    expect(undeclaredIn(`const key = { collection: 'forgotten', id: recordId('x') };`)).toEqual([
      'forgotten',
    ]);
    expect(undeclaredIn(`export const FORGOTTEN: Collection = { name: 'forgotten' };`)).toEqual([
      'FORGOTTEN',
    ]);
  });

  test('agree with each other', () => {
    expect(declarationFaults(declaredCollections)).toEqual([]);
    const runs: OwnedCollection = { name: 'runs', pairedIndexes: false, owner: 'service', copies: 'none' };
    expect(declarationFaults([...declaredCollections, runs])).toEqual(['runs is declared in two ways']);
    const leaked: OwnedCollection = { ...runs, name: 'keys', copies: 'tenant' };
    expect(declarationFaults([leaked])).toEqual(['copies of a tenant carry keys, which a service owns']);
  });

  test('name the content of the copies', () => {
    const namesOf = (all: readonly OwnedCollection[]) => all.map(({ name }) => name);
    expect(namesOf(tenantCollections)).toEqual(['commits', 'documents', 'events', 'fences']);
    expect(namesOf(carriedBy('tenant', executionCollections))).toEqual([
      'admissions',
      'artifacts',
      'checkpoints',
      'children',
      'leases',
      'runs',
      'timers',
      'traces',
      'values',
    ]);
    expect(namesOf(carriedBy('space', serviceCollections))).toEqual(['policies', 'records']);
  });
});
