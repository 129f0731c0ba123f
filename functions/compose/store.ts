import { dirname } from 'node:path';
import type { Provider } from '../config/settings/storage.ts';
import type { Settings } from '../config/table.ts';
import { type Lazy, lazy } from '../kernel/lazy.ts';
import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import type { DamageLog } from '../store/damage.ts';
import { type Collection, type RecordStore, StoreError } from '../store/port.ts';

import { databasePath } from './database-path.ts';

/** The store that the settings name. */

/** Where the database is, for people: without user and password. */
export function placeOf(settings: Settings): string {
  const { canonicalStore, firestore } = settings;
  const { provider } = canonicalStore;
  if (provider === 'sqlite') return `sqlite ${databasePath(settings)}`;
  if (provider !== 'firestore') {
    return `${provider}${addressOf(canonicalStore.connectionString?.reveal() ?? '')}`;
  }
  const { projectId, databaseId, emulatorHost } = firestore;
  const where = `firestore ${projectId ?? '(the project of the platform)'} ${databaseId}`;
  return emulatorHost === null ? where : `${where} on the emulator ${emulatorHost}`;
}

/** Host, port and database of a URL; '' if a secret may be part of them. */
function addressOf(connectionString: string): string {
  const url = URL.parse(connectionString);
  if (url === null || /@/.test(url.pathname + url.search + url.hash)) return '';
  const folder = url.searchParams.get('host') ?? url.searchParams.get('socketPath');
  return ` ${folder ?? url.host}${url.pathname}`;
}

/** Folders of the embedded data that other users of the machine can enter. */
export async function foldersOpenToOthers(settings: Settings): Promise<string[]> {
  const { enabled, provider } = settings.canonicalStore;
  if (!enabled || provider !== 'sqlite') return [];
  const { isOpenToOthers } = await import('../store/sqlite/private-files.ts');
  return [dirname(databasePath(settings))].filter((folder) => isOpenToOthers(folder));
}

export interface StoreOptions {
  readonly settings: Settings;
  readonly world: World;
  /** Whether missing tables are created. */
  readonly create: boolean;
  /** Whether a local file is opened so that nothing of it changes. */
  readonly readOnly: boolean;
  readonly collections: () => Promise<readonly Collection[]>;
  readonly log: Log;
  readonly damage: DamageLog;
  readonly watch?: (store: RecordStore) => RecordStore;
}

/** The first call opens the store. Every failure to open is a `StoreError`. */
export function lazyStore(options: StoreOptions): Lazy<RecordStore> {
  const store = lazy(
    () => openStore(options),
    (opened) => opened.close(),
  );
  return {
    get: () =>
      store.get().catch((error: unknown) => {
        if (error instanceof StoreError) throw error;
        throw new StoreError('unavailable', reasonOf(error), { cause: error });
      }),
    close: store.close,
  };
}

/** Loads the chosen driver only: a function starts faster without the others. */
async function openStore(options: StoreOptions): Promise<RecordStore> {
  const { settings, world, create, readOnly, collections, log, damage, watch = (store) => store } = options;
  const { clock, random, timers, turns } = world;
  const open = openProvider[settings.canonicalStore.provider];
  const { boundedStore, USAGE } = await import('./quotas.ts');
  const known = [...(await collections()), USAGE];
  const opened = await open(settings, { clock, random, timers, turns, collections: known, create, readOnly });
  return watch(damage.watching(boundedStore(opened, settings, world, log)));
}

type Open = (
  settings: Settings,
  parts: Pick<World, 'clock' | 'random' | 'timers' | 'turns'> &
    Pick<StoreOptions, 'create' | 'readOnly'> & { readonly collections: readonly Collection[] },
) => Promise<RecordStore>;

const openProvider: Readonly<Record<Provider, Open>> = {
  async sqlite(settings, parts) {
    const { openSqliteStore } = await import('../store/sqlite/store.ts');
    const { grouping } = settings.canonicalStore;
    return openSqliteStore({ path: databasePath(settings), grouping, ...vectorsOf(settings), ...parts });
  },
  async firestore({ firestore: { projectId, databaseId, emulatorHost } }, parts) {
    const { openFirestoreStore } = await import('../store/firestore/store.ts');
    return openFirestoreStore({
      databaseId,
      ...(projectId === null ? {} : { projectId }),
      ...(emulatorHost === null ? {} : { emulatorHost }),
      ...parts,
    });
  },
  async postgresql(settings, parts) {
    const { openPostgresStore } = await import('../store/postgres/store.ts');
    return openPostgresStore({ ...connectionOf(settings.canonicalStore), ...vectorsOf(settings), ...parts });
  },
  async mysql(settings, parts) {
    const { openMysqlStore } = await import('../store/mysql/store.ts');
    return openMysqlStore({ ...connectionOf(settings.canonicalStore), ...vectorsOf(settings), ...parts });
  },
};

function connectionOf({ connectionString, connectionsMax }: Settings['canonicalStore']) {
  // The rules of the settings require a connection string.
  return { connectionString: connectionString?.reveal() ?? '', poolSize: connectionsMax };
}

/** The vectors that the process holds for searches. */
function vectorsOf({ records }: Settings) {
  return { vectorBytesMax: records.vectorMemoryBytes };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
