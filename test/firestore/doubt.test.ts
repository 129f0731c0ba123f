import { afterAll, describe, expect, test } from 'vitest';
import { createClient, sendBatch } from '../../functions/store/firestore/client.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import {
  documents,
  events,
  keyOf,
  openTestStore,
  recordNamed,
  scopeOf,
  streamOf,
  write,
} from './fixtures.ts';
import { grpcError, wrapRpcs } from './rpc-counter.ts';

const scope = scopeOf('doubt');
const opened: RecordStore[] = [];

/** A store whose next RPC of this kind fails so: before it reaches Firestore, or after it was made there. */
function openBroken(method: string, code: number, when: 'before' | 'after', times = 1) {
  const { store, client } = openTestStore();
  opened.push(store);
  const state = { left: times, sent: 0 };
  wrapRpcs(client, async (name, send) => {
    if (name !== method) return send();
    state.sent += 1;
    if (state.left <= 0) return send();
    state.left -= 1;
    if (when === 'after') await send();
    throw grpcError(code, `broken ${when}`);
  });
  return { store, client, state };
}

async function increment(store: RecordStore, name = 'n'): Promise<number> {
  return store.transact(scope, { keys: [{ key: keyOf(name) }] }, (found) => {
    const count = Number(found.get(keyOf(name))?.head['count'] ?? 0) + 1;
    return { writes: [{ put: { key: keyOf(name), head: { count } } }], result: count };
  });
}

async function countOf(store: RecordStore, name = 'n'): Promise<unknown> {
  const page = await store.query(scope, { by: 'keys', keys: [{ key: keyOf(name) }] });
  return page.records[0]?.head['count'];
}

describe.skipIf(firestoreMissing !== undefined)(`lost answers ${firestoreMissing ?? ''}`, () => {
  afterAll(async () => {
    for (const store of opened) await store.close();
  });

  for (const code of [14, 4, 13, 2]) {
    test(`a commit that was made before its answer was lost (code ${code}) is made once`, async () => {
      const { store, state } = openBroken('commit', code, 'after');
      expect(await increment(store)).toBe(1);
      expect(await increment(store)).toBe(2);
      expect(await countOf(store)).toBe(2);
      expect(state.sent).toBe(2);
    });

    test(`a commit that never arrived (code ${code}) is made again`, async () => {
      const { store, state } = openBroken('commit', code, 'before');
      expect(await increment(store)).toBe(1);
      expect(await countOf(store)).toBe(1);
      expect(state.sent).toBe(2);
    });
  }

  test('fails the call as unavailable within ten tries when no commit is confirmed', async () => {
    const { store, state } = openBroken('commit', 14, 'before', 1000);
    await expect(increment(store)).rejects.toMatchObject({ failure: 'unavailable' });
    expect(state.sent).toBeLessThan(10);
  });

  test('a removal whose answer was lost is not taken for a rival’s', async () => {
    const { store, state } = openBroken('commit', 14, 'after', 0);
    await write(store, scope, recordNamed('gone'));
    state.left = 1;
    const call = store.transact(scope, { keys: [{ key: keyOf('gone') }] }, (found) => ({
      writes: found.get(keyOf('gone')) === undefined ? [] : [{ remove: keyOf('gone') }],
      result: found.get(keyOf('gone')) !== undefined,
    }));
    await expect(call).rejects.toMatchObject({ failure: 'unavailable' });
  });

  test('a rival who overwrites an unconfirmed write leaves no false answer', async () => {
    const { store, client } = openTestStore();
    opened.push(store);
    await increment(store, 'raced');
    let broken = false;
    wrapRpcs(client, async (name, send) => {
      if (name !== 'commit' || broken) return send();
      broken = true;
      await send();
      await increment(store, 'raced');
      throw grpcError(14, 'lost');
    });
    await expect(increment(store, 'raced')).rejects.toMatchObject({ failure: 'unavailable' });
    expect(await countOf(store, 'raced')).toBe(3);
  });

  test('a try after a lost answer shows the unguarded keys of the lost one, so that both write the same', async () => {
    const { store, client } = openTestStore();
    opened.push(store);
    const pointer = keyOf('moved');
    await write(store, scope, recordNamed('moved'), recordNamed('pointed'));
    let lost = false;
    wrapRpcs(client, async (name, send) => {
      if (name !== 'commit' || lost) return send();
      lost = true;
      await write(store, scope, recordNamed('moved', { head: { revision: 2 } }));
      throw grpcError(14, 'never arrived');
    });
    const keys = [{ key: pointer, unguarded: true as const }, { key: keyOf('pointed') }];
    const shown: unknown[] = [];
    await store.transact(scope, { keys }, (found) => {
      shown.push(found.get(pointer)?.head['revision']);
      // A decision that would leave the lost write alone, which may still be made.
      const writes = shown.at(-1) === 1 ? [{ put: recordNamed('pointed', { head: { by: 'it' } }) }] : [];
      return { writes, result: null };
    });
    expect(shown).toEqual([1, 1]);
    const { records } = await store.query(scope, { by: 'keys', keys: [{ key: keyOf('pointed') }] });
    expect(records[0]?.head).toEqual({ by: 'it' });
  });

  test('contention ends with its own failure', async () => {
    let now = 0;
    const timers = {
      // Time-outs of RPCs never fire; pauses end at once, and their time has passed.
      after(delayMs: number, callback: () => void) {
        if (delayMs > 1000) return () => undefined;
        now += delayMs;
        setImmediate(callback);
        return () => undefined;
      },
    };
    const { store, client } = openTestStore({ clock: { now: () => now }, timers });
    opened.push(store);
    wrapRpcs(client, (name, send) => (name === 'commit' ? Promise.reject(grpcError(10, 'aborted')) : send()));
    await expect(increment(store)).rejects.toMatchObject({ failure: 'contention' });
    expect(now).toBeGreaterThan(1_000);
    expect(now).toBeLessThan(15_000);
  });

  test('a claim with a lost answer has no winner, and its record becomes due again at the new time', async () => {
    const { store } = openBroken('batchWrite', 14, 'after');
    const event = { key: keyOf('e', events), head: {}, due: 5 };
    await write(store, scope, event);
    const claim = (now: number) =>
      store.claim(scope, events, { now, limit: 5 }, (record, offer) => ({
        put: { ...record, due: 100 },
        result: offer,
      }));
    expect(await claim(10)).toEqual([]);
    expect(await claim(100)).toHaveLength(1);
  });

  test('a claim that never arrived is offered again', async () => {
    const { store } = openBroken('batchWrite', 14, 'before');
    await write(store, scope, { key: keyOf('e', events), head: {}, due: 5 });
    const won = await store.claim(scope, events, { now: 10, limit: 5 }, (record, offer) => ({
      put: { ...record, due: 100 },
      result: offer,
    }));
    expect(won).toEqual([1]);
  });

  test('a flip whose answer was lost is not undone', async () => {
    const { store, client } = openTestStore();
    opened.push(store);
    let flips = 0;
    wrapRpcs(client, async (name, send, request) => {
      const flip = name === 'commit' && JSON.stringify(request).includes('"retired"') && loaded;
      const reply = await send();
      if (flip && flips < 4) {
        flips += 1;
        throw grpcError(14, 'lost');
      }
      return reply;
    });
    let loaded = false;
    await store.swap(scope, streamOf([recordNamed('a'), recordNamed('b')]), () => {
      loaded = true;
    });
    expect(flips).toBeGreaterThan(0);
    const page = await store.query(scope, { by: 'keys', keys: [{ key: keyOf('a') }, { key: keyOf('b') }] });
    expect(page.records).toHaveLength(2);
  });

  test('an unconfirmed flip that was made is recognised, and its records stay', async () => {
    const { store, client } = openTestStore();
    opened.push(store);
    let stage: 'loading' | 'flipping' | 'flipped' | 'found' = 'loading';
    wrapRpcs(client, async (name, send) => {
      if (stage === 'flipping' && name === 'commit') {
        await send();
        stage = 'flipped';
        throw grpcError(14, 'lost');
      }
      if (stage === 'flipped' && name === 'batchGetDocuments') {
        stage = 'found';
        throw grpcError(7, 'refused once');
      }
      return send();
    });
    await store.swap(scope, streamOf([recordNamed('x'), recordNamed('y')]), () => {
      stage = 'flipping';
    });
    expect(stage).toBe('found');
    const keys = ['x', 'y'].map((name) => ({ key: keyOf(name) }));
    expect((await store.query(scope, { by: 'keys', keys })).records).toHaveLength(2);
  });

  test('a load continues after a lost batch, made or not', async () => {
    for (const when of ['before', 'after'] as const) {
      const { store } = openBroken('batchWrite', 14, when);
      await store.swap(scope, streamOf(['a', 'b', 'c'].map((name) => recordNamed(name))), () => undefined);
      const { records } = await store.query(scope, {
        by: 'keys',
        keys: ['a', 'b', 'c'].map((name) => ({ key: keyOf(name) })),
      });
      expect(records).toHaveLength(3);
    }
  });

  test('the library sends a batch once, as `sendBatch` expects', async () => {
    const client = createClient(firestoreOptions());
    let sent = 0;
    wrapRpcs(client, () => {
      sent += 1;
      return Promise.reject(grpcError(14, 'down'));
    });
    for (const method of ['commit', 'batchWrite'] as const) {
      const batch = client.batch().set(client.doc(`${documents.name}/a`), {});
      await expect(sendBatch(batch, method)).rejects.toMatchObject({ code: 14 });
    }
    expect(sent).toBe(2);
    await client.terminate();
  });

  test('the transport does not repeat it either: an answer that is too large fails at once', async () => {
    const client = createClient(firestoreOptions());
    const batch = client.batch();
    for (let index = 0; index < 6; index += 1)
      batch.set(client.doc(`big/${index}`), { bytes: Buffer.alloc(900_000) });
    // A transport that repeats the call would outlast the test.
    await expect(sendBatch(batch, 'commit')).rejects.toMatchObject({ code: 8 });
    await client.terminate();
  });
});
