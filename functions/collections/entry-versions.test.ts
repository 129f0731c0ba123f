import { describe, expect, test } from 'vitest';
import { patched } from '../../test/conformance/canonical-outbox-tenant.ts';
import { nextFormat, nextFormats, thisFormat } from '../../test/conformance/next-entries.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { RecordStore } from '../store/port.ts';
import { EntryVersions } from './entry-versions.ts';
import { type EntryFormats, entryFormats } from './search/formats.ts';

const MINUTE_MS = 60_000;

/** A database, and the servers over it. */
class Fleet {
  readonly world = new ManualWorld();
  readonly calls: string[] = [];
  isDown = false;
  readonly #store: RecordStore;

  constructor() {
    const store = new MemoryStore(new MemoryDatabase());
    const counted = (verb: string) => {
      if (this.isDown) throw new Error('the database is away');
      this.calls.push(verb);
    };
    this.#store = patched(store, {
      query: (async (...given: Parameters<RecordStore['query']>) => {
        counted('query');
        return store.query(...given);
      }) as RecordStore['query'],
      transact: async (...given) => {
        counted('transact');
        return store.transact(...given);
      },
    });
  }

  server(formats: EntryFormats, chosen: number | null = null): EntryVersions {
    return new EntryVersions(() => Promise.resolve(this.#store), this.world.clock, formats, chosen);
  }
}

const versionOf = async (server: EntryVersions) => (await server.written()).version;

describe('the version that a server writes', () => {
  test('is its only one without a look at the database', async () => {
    const fleet = new Fleet();
    expect(await versionOf(fleet.server(entryFormats))).toBe(thisFormat.version);
    expect(fleet.calls).toEqual([]);
  });

  test('is its own where no older server has run', async () => {
    const fleet = new Fleet();
    const newer = fleet.server(nextFormats);
    await newer.mark();
    expect(await versionOf(newer)).toBe(nextFormat.version);
  });

  test('is the one before until the last mark of an older server is ten minutes old', async () => {
    const fleet = new Fleet();
    const [older, newer] = [fleet.server(entryFormats), fleet.server(nextFormats)];
    const seen: number[] = [];
    for (let minute = 0; minute < 25; minute += 1) {
      if (minute < 10) await older.mark();
      await newer.mark();
      seen.push(await versionOf(newer));
      fleet.world.advance(MINUTE_MS);
    }
    expect(seen.indexOf(nextFormat.version)).toBe(19);
    expect(seen.slice(19)).toEqual(Array<number>(6).fill(nextFormat.version));
    await older.mark();
    expect(await versionOf(fleet.server(nextFormats))).toBe(thisFormat.version);
  });

  test('rests on marks that are at most a minute old, read once for all calls', async () => {
    const fleet = new Fleet();
    const newer = fleet.server(nextFormats);
    await Promise.all(Array.from({ length: 20 }, () => newer.written()));
    fleet.world.advance(MINUTE_MS - 1);
    expect(await versionOf(newer)).toBe(nextFormat.version);
    expect(fleet.calls).toEqual(['query']);
    await fleet.server(entryFormats).mark();
    fleet.world.advance(1);
    expect(await versionOf(newer)).toBe(thisFormat.version);
  });

  test('is the one that the operator has chosen, without a look at the marks', async () => {
    const fleet = new Fleet();
    await fleet.server(entryFormats).mark();
    fleet.calls.length = 0;
    for (const { version } of nextFormats)
      expect(await versionOf(fleet.server(nextFormats, version))).toBe(version);
    expect(fleet.calls).toEqual([]);
  });

  test('is asked for again after a failure', async () => {
    const fleet = new Fleet();
    const newer = fleet.server(nextFormats);
    fleet.isDown = true;
    await expect(newer.written()).rejects.toThrow('away');
    fleet.isDown = false;
    expect(await versionOf(newer)).toBe(nextFormat.version);
  });
});

describe('the marks of servers', () => {
  test('are written by one of a fleet, once a minute', async () => {
    const fleet = new Fleet();
    const servers = Array.from({ length: 5 }, () => fleet.server(entryFormats));
    for (let second = 0; second < 120; second += 1) {
      await servers[second % servers.length]!.mark();
      fleet.world.advance(1_000);
    }
    expect(fleet.calls.filter((verb) => verb === 'transact')).toHaveLength(2);
  });

  test('of one version leave those of the others', async () => {
    const fleet = new Fleet();
    const [older, newer] = [fleet.server(entryFormats), fleet.server(nextFormats)];
    expect(await older.isNewerRunning()).toBe(false);
    await newer.mark();
    await older.mark();
    await newer.mark();
    expect(await fleet.server(entryFormats).isNewerRunning()).toBe(true);
    expect(await versionOf(newer)).toBe(thisFormat.version);
    expect(await newer.isNewerRunning()).toBe(false);
    fleet.world.advance(10 * MINUTE_MS);
    expect(await older.isNewerRunning()).toBe(false);
  });
});

test('a release reads a collection whose entries it knows all, by their formats alone', () => {
  const fleet = new Fleet();
  const versionsIn = (formats: EntryFormats, from: number, to: number) =>
    fleet
      .server(formats)
      .formatsIn({ from, to })
      ?.map(({ version }) => version) ?? null;
  expect(
    [
      [0, 0],
      [0, 1],
      [1, 1],
      [1, 2],
      [2, 2],
    ].map(([from = 0, to = 0]) => versionsIn(entryFormats, from, to)),
  ).toEqual([null, null, [1], null, null]);
  const wider = [
    [0, 1],
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 3],
    [3, 3],
  ];
  expect(wider.map(([from = 0, to = 0]) => versionsIn(nextFormats, from, to))).toEqual([
    null,
    [1],
    [1, 2],
    [2],
    null,
    null,
  ]);
});

test('a process announces a collection once a minute', () => {
  const fleet = new Fleet();
  const server = fleet.server(entryFormats);
  expect(['a', 'a', 'b'].map((each) => server.mayAnnounce(each))).toEqual([true, false, true]);
  fleet.world.advance(MINUTE_MS);
  expect(server.mayAnnounce('a')).toBe(true);
  for (let n = 0; n < 2_000; n += 1) expect(server.mayAnnounce(`c${n}`)).toBe(true);
});
