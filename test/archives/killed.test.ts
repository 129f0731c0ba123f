import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChunkSource } from '../../functions/groups/canonical/copies/snapshot/archive.ts';
import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { changed } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { patienceMs, stride } from '../support/effort.ts';
import { leftOut, type Provider, providers, sweepLater, type TestDatabase } from './databases.ts';
import type { Era } from './eras.ts';
import { type Mortal, openMortal } from './mortal.ts';
import { Stage } from './stage.ts';

interface Opened {
  readonly database: TestDatabase;
  /** An instance that lives on. */
  readonly store: RecordStore;
}

/** A database of the provider, from before the first test of the block to after the last. */
function onDatabase(provider: Provider): () => Opened {
  let opened: Opened | undefined;
  beforeAll(async () => {
    if (provider.missing !== undefined) return;
    const database = await provider.create();
    opened = { database, store: await database.open() };
  });
  afterAll(async () => {
    await opened?.store.close();
    await opened?.database.drop();
  });
  return () => {
    if (opened === undefined) throw new Error('there is no database');
    return opened;
  };
}

for (const provider of providers) {
  const title = `a restore on ${provider.name} whose source or store fails${leftOut(provider)}`;
  describe.skipIf(provider.missing !== undefined)(title, () => {
    const opened = onDatabase(provider);
    // As many records as make a few chunks: each is one at which to fail.
    let stage: Stage;
    beforeAll(async () => {
      stage = await Stage.prepare('failing', 8);
    });

    /** The old tenant remains after each failure, and the next restore succeeds. */
    async function expectRefusals(fail: (era: Era, step: number) => Promise<boolean>): Promise<number> {
      const { store } = opened();
      const [old, wanted] = stage.eras;
      await stage.restore(store, old);
      let step = 0;
      while (await fail(wanted, step)) {
        expect(await stage.eraIn(store)).toBe(old.number);
        step += 1;
      }
      expect(await stage.eraIn(store)).toBe(wanted.number);
      return step;
    }

    test('at any read leaves the old tenant', async () => {
      const { store } = opened();
      const steps = await expectRefusals((era, step) =>
        rejected(stage.restore(store, era, failingAt(era.objects, step)), 'the source is gone'),
      );
      // The manifest, the names, and every chunk once to be checked and once to be restored.
      expect(steps).toBeGreaterThanOrEqual(2 * stage.eras[1].manifest.chunks.length + 2);
    });

    test('at any record leaves the old tenant', async () => {
      const { store } = opened();
      const { counts } = stage.eras[1].manifest;
      const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
      const every = provider.name === 'firestore' ? stride(total, 8) : 1;
      const steps = await expectRefusals((era, step) => {
        const onProgress = (progress: { readonly step: string; readonly records: number }): void => {
          if (progress.step === 'restoring' && progress.records === step * every + 1)
            throw new Error('it was given up');
        };
        const call = restoreTenantArchive(store, stage.tenantId, era.objects, { onProgress });
        return rejected(call, 'it was given up');
      });
      expect(steps).toBe(Math.ceil(total / every));
    });

    test('in its one call on the store leaves the old tenant, or the new one where the answer was lost', async () => {
      const { store } = opened();
      const [old, wanted] = stage.eras;
      await stage.restore(store, old);
      const lost = () => Promise.reject(new Error('the line is dead'));
      await rejected(stage.restore(changed(store, { swap: lost }), wanted), 'the line is dead');
      expect(await stage.eraIn(store)).toBe(old.number);
      const late = changed(store, {
        swap: (...given) => store.swap(...given).then(lost),
      });
      await rejected(stage.restore(late, wanted), 'the line is dead');
      expect(await stage.eraIn(store)).toBe(wanted.number);
    });
  });
}

/** Whether it was refused for this reason; any other ends the test. */
async function rejected(call: Promise<unknown>, reason: string): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if (error instanceof Error && error.message === reason) return true;
    throw error;
  }
}

/** A source of which one read fails. */
function failingAt(source: ChunkSource, step: number): ChunkSource {
  let calls = 0;
  const next = <T>(read: () => Promise<T>): Promise<T> =>
    calls++ === step ? Promise.reject(new Error('the source is gone')) : read();
  return {
    names: () => next(() => source.names()),
    read: (name, bytesMax) => next(() => source.read(name, bytesMax)),
  };
}

// SQLite runs in the process that dies: `killed-sqlite.test.ts` tests its state after a kill.
for (const provider of providers.filter(({ name }) => name !== 'sqlite')) {
  const title = `a restore whose process dies at any message to ${provider.name}${leftOut(provider)}`;
  describe.skipIf(provider.missing !== undefined)(title, () => {
    const opened = onDatabase(provider);
    let stage: Stage;
    beforeAll(async () => {
      // Two batches, on the emulator too, which is slow.
      stage = await Stage.prepare('mortal', provider.name === 'firestore' ? 230 : 560);
      await stage.restore(opened().store, stage.eras[0]);
    });

    test(
      'leaves one tenant or the other, and can be run again',
      async () => {
        let message = 0;
        while (await dies(opened(), stage, message)) message += 1;
        // A space is made, batches are loaded, and the head is turned.
        expect(message).toBeGreaterThan(6);
      },
      patienceMs,
    );

    test('leaves nothing that maintenance does not sweep', async () => {
      const { database, store } = opened();
      await using mortal = await died(database, stage, 5);
      expect(mortal.dead).toBe(true);
      expect(await database.leftovers(stage.tenantId)).toBeGreaterThan(0);
      const era = await stage.eraIn(store);
      // On MySQL a sweep gives way to one that is under way.
      await store.sweep();
      await sweepLater(database);
      expect(await database.leftovers(stage.tenantId)).toBe(0);
      expect(await stage.eraIn(store)).toBe(era);
    });
  });
}

/** After this number of deaths the restore is run again; otherwise the next restore begins from the state that was left. */
const AGAIN_EVERY = 3;

/** Has a process restore the other era and die on the way. Returns whether it reached the point of its death. */
async function dies({ database, store }: Opened, stage: Stage, message: number): Promise<boolean> {
  const [one, two] = stage.eras;
  const wanted = (await stage.markerIn(store)) === one.number ? two : one;
  await using mortal = await died(database, stage, message, wanted);
  const after = await stage.eraIn(store);
  if (mortal.answered) expect(after, 'what was answered is there').toBe(wanted.number);
  if (message % AGAIN_EVERY === 0) {
    await stage.restore(store, wanted);
    expect(await stage.eraIn(store)).toBe(wanted.number);
  }
  return mortal.dead;
}

interface Dead extends AsyncDisposable {
  readonly dead: boolean;
  /** Whether the restore had ended and been answered before. */
  readonly answered: boolean;
}

async function died(
  database: TestDatabase,
  stage: Stage,
  message: number,
  wanted: Era = stage.eras[0],
): Promise<Dead> {
  const { found } = database;
  if (found.provider === 'sqlite') throw new Error('there are no messages to SQLite');
  const mortal: Mortal = await openMortal(found);
  await mortal.store.ping();
  mortal.foretell(message);
  const done = stage.restore(mortal.store, wanted).then(
    () => true,
    // No process is left to receive it.
    () => mortal.died.then(() => false),
  );
  const answered = await Promise.race([done, mortal.died.then(() => false)]);
  // Sweeping comes behind the answer.
  if (answered) await Promise.race([mortal.store.close(), mortal.died]);
  const { dead } = mortal;
  return { dead, answered, [Symbol.asyncDispose]: () => mortal.bury() };
}
