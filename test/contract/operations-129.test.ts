import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The operations that the contract promises, as data beside this test. */
interface Promised {
  readonly group: string;
  readonly id: string;
  readonly routes: readonly string[];
  readonly class: string;
  readonly python: string;
  readonly typescript: string;
}

/** The members of a catalog entry that the test compares. */
interface Entry {
  readonly id: string;
  readonly group: string;
  readonly stability: string;
  readonly authorizationClass: string;
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly sdk: { readonly python: string; readonly typescript: string } | null;
}

const read = (path: string) => JSON.parse(readFileSync(join(import.meta.dirname, path), 'utf8')) as unknown;
const promised = read('operations-129.json') as readonly Promised[];
const known = (read('../../contracts/public-sdk-surface.json') as { readonly operations: readonly Entry[] })
  .operations;

/** A key with slashes is a catch-all in the catalog. */
const pathOf = (path: string) => path.replaceAll(/\{(\w+)\+\}/g, '{$1}');

const inCatalog = known.map(({ id, group, routes, authorizationClass, sdk }) => ({
  group,
  id,
  routes: routes.map(({ method, path }) => `${method} ${pathOf(path)}`).sort(),
  class: authorizationClass,
  python: sdk?.python,
  typescript: sdk?.typescript,
}));

test('the list has 129 operations, each once', () => {
  expect(new Set(promised.map(({ id }) => id)).size).toBe(129);
  expect(promised).toHaveLength(129);
});

test('the catalog has each of them with its routes, class and names', () => {
  const ids = new Set(promised.map(({ id }) => id));
  const byId = (one: { readonly id: string }, other: { readonly id: string }) => (one.id < other.id ? -1 : 1);
  const sorted = promised.map((each) => ({ ...each, routes: each.routes.toSorted() }));
  expect(inCatalog.filter(({ id }) => ids.has(id)).toSorted(byId)).toEqual(sorted.toSorted(byId));
});

test('beside them it has only preview operations', () => {
  const ids = new Set(promised.map(({ id }) => id));
  const more = known.filter(({ id }) => !ids.has(id));
  expect(more.filter(({ stability }) => stability !== 'preview').map(({ id }) => id)).toEqual([]);
});
