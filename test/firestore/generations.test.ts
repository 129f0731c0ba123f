import { afterAll, describe, expect, test } from 'vitest';
import type { RecordData, Scope } from '../../functions/store/port.ts';
import { firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { documents, keyOf, openTestStore, recordNamed, scopeOf, streamOf, write } from './fixtures.ts';

const hourMs = 60 * 60 * 1000;

describe.skipIf(firestoreMissing !== undefined)(`generations ${firestoreMissing ?? ''}`, () => {
  let now = Date.now();
  const project = firestoreProject();
  const { store, client } = openTestStore({ clock: { now: () => now } }, project);
  const other = openTestStore({ clock: { now: () => now } }, project).store;
  afterAll(() => Promise.all([store.close(), other.close()]));

  const headOf = async (scope: string) => (await client.doc(`tenants/t-${scope}`).get()).data();
  const documentsIn = async (scope: string, generation: string) =>
    (await client.collection(`tenants/t-${scope}/generations/${generation}/documents`).get()).size;

  test('a retired generation rests an hour, and the swap after that sweeps it', async () => {
    const scope = scopeOf('resting');
    await write(store, scope, recordNamed('first'));
    await store.swap(scope, streamOf([recordNamed('second')]), () => undefined);
    expect(await documentsIn('resting', '0')).toBe(1);
    now += hourMs / 2;
    await store.swap(scope, streamOf([recordNamed('third')]), () => undefined);
    expect(await documentsIn('resting', '0')).toBe(1);
    now += hourMs / 2;
    await store.swap(scope, streamOf([recordNamed('fourth')]), () => undefined);
    expect(await documentsIn('resting', '0')).toBe(0);
    const head = await headOf('resting');
    expect(Object.keys(head?.['retired'] as object)).toHaveLength(2);
    expect(head?.['pending']).toEqual({});
    expect(await documentsIn('resting', String(head?.['generation']))).toBe(1);
  });

  test('maintenance sweeps every swapped scope, also one with special characters in its name', async () => {
    const names = ['plain', 'a/b%2Fc%', '__x__', '..'];
    const kinds = ['tenants', 'spaces', 'system'] as const;
    const scopes = kinds.flatMap((kind) => names.map((name): Scope => ({ kind, name })));
    for (const scope of scopes) {
      await write(store, scope, recordNamed('first'));
      await store.swap(scope, streamOf([recordNamed('second')]), () => undefined);
    }
    const left = async () => (await client.collectionGroup('documents').get()).size;
    await other.sweep();
    const before = await left();
    now += hourMs;
    await other.sweep();
    expect(await left()).toBeLessThanOrEqual(before - scopes.length);
    for (const scope of scopes) {
      const keys = ['first', 'second'].map((record) => ({ key: keyOf(record) }));
      const { records } = await other.query(scope, { by: 'keys', keys });
      expect(records.map(({ key }) => key)).toEqual([keyOf('second')]);
    }
    for (const kind of kinds) {
      const heads = await client.collection(kind).get();
      for (const head of heads.docs) expect(head.data()['retired'], head.ref.path).toEqual({});
    }
    // Nothing is left to do.
    await other.sweep();
  });

  test('the records of a failed swap are swept at once', async () => {
    const scope = scopeOf('failing');
    let loaded = '';
    const call = store.swap(scope, streamOf([recordNamed('a'), recordNamed('b')]), async () => {
      loaded = Object.keys((await headOf('failing'))?.['pending'] as object)[0] ?? '';
      expect(await documentsIn('failing', loaded)).toBe(2);
      throw new Error('no');
    });
    await expect(call).rejects.toThrow('no');
    expect(await documentsIn('failing', loaded)).toBe(0);
    expect(await headOf('failing')).toMatchObject({ generation: '0', pending: {}, retired: {} });
  });

  test('a load without a write for an hour is abandoned, and cannot continue', async () => {
    const scope = scopeOf('stalled');
    await write(store, scope, recordNamed('old'));
    let resume = (): void => undefined;
    const paused = new Promise<void>((resolve) => (resume = resolve));
    let begun = (): void => undefined;
    const loading = new Promise<void>((resolve) => (begun = resolve));
    async function* stalling(): AsyncGenerator<RecordData> {
      yield recordNamed('stalled');
      begun();
      await paused;
      yield recordNamed('too late');
    }
    const stalled = store.swap(scope, stalling(), () => undefined);
    await loading;
    now += hourMs + 1;
    await other.swap(scope, streamOf([recordNamed('new')]), () => undefined);
    resume();
    await expect(stalled).rejects.toMatchObject({ failure: 'contention' });
    const { records } = await store.query(scope, {
      by: 'keys',
      keys: ['old', 'stalled', 'too late', 'new'].map((name) => ({ key: keyOf(name) })),
    });
    expect(records.map(({ key }) => key)).toEqual([keyOf('new')]);
  });

  test('a load that was given up while it was verified is not made live', async () => {
    const scope = scopeOf('verifying');
    await write(store, scope, recordNamed('old'));
    const call = store.swap(scope, streamOf([recordNamed('stalled')]), async () => {
      now += hourMs + 1;
      await other.swap(scope, streamOf([recordNamed('new')]), () => undefined);
    });
    await expect(call).rejects.toMatchObject({ failure: 'contention' });
    const keys = ['stalled', 'new'].map((name) => ({ key: keyOf(name) }));
    const { records } = await store.query(scope, { by: 'keys', keys });
    expect(records.map(({ key }) => key)).toEqual([keyOf('new')]);
  });

  test('a long load is renewed while it makes progress', async () => {
    const scope = scopeOf('slow');
    async function* slow(): AsyncGenerator<RecordData> {
      for (let index = 0; index < 4; index += 1) {
        now += hourMs / 2;
        yield recordNamed(`${index}`);
      }
    }
    await store.swap(scope, slow(), () =>
      other.swap(scope, streamOf([recordNamed('other')]), () => undefined),
    );
    const listed: string[] = [];
    for await (const page of other.scan(scope, { collections: [documents.name], pageSize: 9 })) {
      listed.push(...page.records.map(({ key }) => key.id));
    }
    expect(listed).toHaveLength(4);
  });

  test('an instance that knew the old generation lists, claims and finds parts in the new one', async () => {
    const scope = scopeOf('known');
    const full = (name: string): RecordData =>
      recordNamed(name, {
        listing: { group: 'task', id: name, hidden: false, indexes: {} },
        parts: [{ of: keyOf('document').id, order: name, body: name }],
        due: 5,
      });
    const ways = {
      list: async () => {
        const page = await other.query(scope, { by: 'list', collection: documents, limit: 9 });
        return page.records.map(({ listing }) => listing?.id);
      },
      parts: async () => {
        const of = keyOf('document').id;
        const page = await other.query(scope, {
          by: 'parts',
          collection: documents,
          of,
          direction: 'ascending',
          limit: 9,
        });
        return page.parts.map(({ body }) => body);
      },
      claim: () =>
        other.claim(scope, documents, { now: 9, limit: 9 }, (record) => ({
          put: record,
          result: record.listing?.id,
        })),
    };
    await write(store, scope, full('old'));
    expect(await ways.list()).toEqual(['old']);
    for (const [name, way] of Object.entries(ways)) {
      await store.swap(scope, streamOf([full(name)]), () => undefined);
      expect(await way()).toEqual([name]);
    }
  });

  test('two records of one key are a fault of the source', async () => {
    const twice = Array.from({ length: 2 }, () => recordNamed('same'));
    await expect(store.swap(scopeOf('twice'), streamOf(twice), () => undefined)).rejects.toMatchObject({
      failure: 'corrupt',
    });
    const far = [
      recordNamed('same'),
      ...Array.from({ length: 300 }, (_, n) => recordNamed(`${n}`)),
      recordNamed('same'),
    ];
    await expect(store.swap(scopeOf('twice'), streamOf(far), () => undefined)).rejects.toMatchObject({
      failure: 'corrupt',
    });
  });

  test('a scan continues on another instance, at its own moment, also when the scope has been swapped', async () => {
    const scope = scopeOf('scanned');
    await write(store, scope, ...['a', 'b', 'c', 'd', 'e'].map((name) => recordNamed(name)));
    const seen: string[] = [];
    let resume: string | null = null;
    for await (const page of store.scan(scope, { collections: [documents.name], pageSize: 2 })) {
      seen.push(...page.records.map(({ key }) => key.id));
      resume = page.resume;
      break;
    }
    await write(store, scope, recordNamed('later'));
    await store.swap(scope, streamOf([recordNamed('new')]), () => undefined);
    const request = { collections: [documents.name], pageSize: 2, resume: resume ?? '' };
    for await (const page of other.scan(scope, request)) seen.push(...page.records.map(({ key }) => key.id));
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => keyOf(name).id).sort());
  });
});
