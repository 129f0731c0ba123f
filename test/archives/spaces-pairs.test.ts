import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpaceManifest } from '../../functions/collections/copies/archive-manifest.ts';
import { tallySpace } from '../../functions/collections/copies/export-space.ts';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { policyKey, spaceScope } from '../../functions/collections/store-collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { leftOut, type Provider, providers, type TestDatabase } from './databases.ts';
import type { Objects } from './objects.ts';
import {
  archived,
  fill,
  incarnation,
  inOrder,
  listed,
  policy,
  record,
  richSpace,
  SPACE,
  scanned,
} from './spaces.ts';

/** A space that an archive takes from any database to any other is the same there. */

const NEIGHBOUR = 'neighbour';
const present = providers.filter(({ missing }) => missing === undefined);
const opened: { readonly store: RecordStore; readonly database: TestDatabase }[] = [];
const sources = new Map<string, { readonly objects: Objects; readonly manifest: SpaceManifest }>();
const targets = new Map<string, RecordStore>();
const rich = richSpace('first');

async function openDatabase(provider: Provider): Promise<RecordStore> {
  const database = await provider.create();
  const store = await database.open();
  opened.push({ store, database });
  return store;
}

beforeAll(async () => {
  for (const provider of present) {
    const store = await openDatabase(provider);
    await fill(store, SPACE, [...rich.carried, ...rich.strays]);
    sources.set(provider.name, await archived(store));
    targets.set(provider.name, await openDatabase(provider));
  }
});
afterAll(async () => {
  for (const { store, database } of opened) {
    await store.close();
    await database.drop();
  }
});

function sourceOf(name: string) {
  const source = sources.get(name);
  if (source === undefined) throw new Error(`there is no source ${name}`);
  return source;
}

describe('the archive of one space', () => {
  for (const provider of providers.slice(1))
    test.skipIf(provider.missing !== undefined)(
      `is the same, byte for byte, on sqlite and ${provider.name}${leftOut(provider)}`,
      () => {
        expect(sourceOf(provider.name).manifest).toEqual(sourceOf('sqlite').manifest);
        expect(sourceOf(provider.name).objects.digests).toEqual(sourceOf('sqlite').objects.digests);
      },
    );

  test('holds the incarnations that names point at, and no retired or unfinished ones', () => {
    const { manifest } = sourceOf('sqlite');
    expect(manifest.counts).toEqual({ policies: 3, records: rich.carried.length - 3 });
    expect(manifest.chunks.length).toBeGreaterThan(5);
  });
});

/** Fills the space beforehand: in part under the names and keys of the archive, which a merge would leave in place. */
async function makeOther(store: RecordStore): Promise<void> {
  for (const space of [SPACE, NEIGHBOUR])
    await fill(store, space, [
      policy('stray', incarnation(9)),
      policy('notes', incarnation(8)),
      record(incarnation(9), 'p', 'stray'),
      record(incarnation(8), 'p0', 'note-0'),
      record(incarnation(1), 'p0', 'note-0', '"marker":"older"'),
      record(incarnation(1), 'p0', 'note-more', '"marker":"older"'),
    ]);
}

describe.each(providers.map((provider) => ({ provider, name: provider.name })))(
  'an archive of a space restored on $name',
  ({ provider: target }) => {
    for (const from of providers) {
      const missing = target.missing !== undefined || from.missing !== undefined;
      test.skipIf(missing)(`is the space of ${from.name}${leftOut(from)}${leftOut(target)}`, async () => {
        const store = targets.get(target.name) as RecordStore;
        const { objects, manifest } = sourceOf(from.name);
        await makeOther(store);
        const neighbour = await tallySpace(store, NEIGHBOUR);
        const how = { expectedContentHash: manifest.contentHash, replace: true };
        expect(await restoreSpace(store, objects, SPACE, how)).toEqual(manifest);
        expect(await scanned(store, SPACE)).toEqual(inOrder(rich.carried));
        const notes = rich.carried.filter(({ listing }) => listing?.group === incarnation(1));
        expect(await listed(store, SPACE, incarnation(1))).toEqual(
          notes.map(({ listing }) => listing?.id ?? '').sort(),
        );
        expect(await listed(store, SPACE, incarnation(9))).toEqual([]);
        const keys = [{ key: policyKey('stray') }];
        expect((await store.query(spaceScope(SPACE), { by: 'keys', keys })).records).toEqual([]);
        const again = await archived(store);
        expect(again.objects.digests).toEqual(objects.digests);
        const after = await tallySpace(store, NEIGHBOUR);
        expect([after.counts, after.contentHash()]).toEqual([neighbour.counts, neighbour.contentHash()]);
      });
    }
  },
);
