import { describe, expect, test } from 'vitest';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { exportTenant, restoreTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { changed } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import type { RecordStore, ScanPage } from '../../functions/store/port.ts';
import { LocalInstance } from '../histories/instance.ts';
import { START } from '../support/canonical.ts';
import { cases } from '../support/effort.ts';
import { Chronicle } from './chronicle.ts';
import { leftOut, type Provider, providers, type TestDatabase } from './databases.ts';
import { makeEra } from './eras.ts';
import { judge } from './judge.ts';
import { Objects } from './objects.ts';
import { addSighting } from './sighting-of.ts';
import { Traffic } from './traffic.ts';

const TENANT = 'exported';
const WRITERS = 8;
/** More than one page of a scan, which are short on Firestore. */
const ballastOn = ({ name }: Provider) => (name === 'firestore' ? 90 : 330);

/** The store, whose scans let some commits pass between two pages. */
function slowly(store: RecordStore, traffic: Traffic, silent: boolean): RecordStore {
  return changed(store, {
    async *scan(scope, request): AsyncGenerator<ScanPage, void, undefined> {
      const pages = store.scan(scope, request)[Symbol.asyncIterator]();
      const first = () => pages.next();
      // The emulator shows commits of the moment of the scan half-way, as it does to any query.
      let page = await (silent ? traffic.inSilence(first) : first());
      for (; page.done !== true; page = await pages.next()) {
        yield page.value;
        await traffic.commits(3);
      }
    },
  });
}

interface Copy {
  /** As the export reported it. */
  readonly contentHash: string;
  restoreIn(store: RecordStore): Promise<void>;
}

async function copyOf(store: RecordStore, now: number, form: 'snapshot' | 'archive'): Promise<Copy> {
  if (form === 'snapshot') {
    const snapshot = await exportTenant(store, TENANT, { now });
    const restoreIn = async (other: RecordStore) => void (await restoreTenant(other, TENANT, snapshot));
    return { contentHash: snapshot.contentHash, restoreIn };
  }
  const objects = new Objects();
  const { snapshotContentHash } = await exportTenantArchive(store, TENANT, objects, {
    now,
    chunkBytes: 64 * 1024,
  });
  const restoreIn = async (other: RecordStore) => void (await restoreTenantArchive(other, TENANT, objects));
  return { contentHash: snapshotContentHash, restoreIn };
}

/** The content of the copy, read from an otherwise empty tenant; fails where that is another content. */
async function contentOf(copy: Copy, store: RecordStore): Promise<TenantSnapshot> {
  await copy.restoreIn(store);
  const snapshot = await exportTenant(store, TENANT, { now: START });
  expect(snapshot.contentHash).toBe(copy.contentHash);
  return snapshot;
}

async function exportUnder(traffic: Traffic, store: RecordStore, empty: RecordStore): Promise<number> {
  const { chronicle } = traffic;
  let beside = 0;
  for (let n = 0; n < cases(4); n++) {
    const called = chronicle.tick();
    const before = chronicle.acknowledged;
    const copy = await copyOf(store, START + called, n % 2 === 0 ? 'archive' : 'snapshot');
    beside += chronicle.acknowledged - before;
    const returned = chronicle.tick();
    // So that the tenant does not grow meanwhile.
    const content = await traffic.inSilence(() => contentOf(copy, empty));
    addSighting(chronicle, content, called, returned);
  }
  return beside;
}

async function opened(provider: Provider): Promise<{ database: TestDatabase; store: RecordStore }> {
  const database = await provider.create();
  return { database, store: await database.open() };
}

describe.each(providers.map((provider) => ({ provider, name: `${provider.name}${leftOut(provider)}` })))(
  'a tenant that is exported while eight write to it on $name',
  ({ provider }) => {
    test.skipIf(provider.missing !== undefined)('is that of one moment', async () => {
      const { database, store } = await opened(provider);
      const empty = await opened(provider);
      const chronicle = new Chronicle();
      const instances = [new LocalInstance(await database.open()), new LocalInstance(await database.open())];
      const traffic = new Traffic(instances, chronicle, { tenantId: TENANT, writers: WRITERS, readers: 0 });
      const begun = chronicle.attempt(0);
      await restoreTenantArchive(store, TENANT, (await makeEra(TENANT, 0, ballastOn(provider))).objects);
      begun.returned = chronicle.tick();
      traffic.start();
      await traffic.commits(2 * WRITERS);
      const emulated = provider.name === 'firestore';
      const beside = await exportUnder(traffic, slowly(store, traffic, emulated), empty.store);
      await traffic.stop();
      expect(judge(chronicle)).toEqual([]);
      expect(beside).toBeGreaterThan(cases(4) * 5);
      await Promise.all([...instances, store, empty.store].map((each) => each.close()));
      await Promise.all([database.drop(), empty.database.drop()]);
    });
  },
);
