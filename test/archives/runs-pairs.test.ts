import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { ALL_RUNS } from '../../functions/runs/copies/archive-lines.fixture.ts';
import { restoreRuns } from '../../functions/runs/copies/restore-runs.ts';
import { executionCollections as collections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { archived, begin, goOn, SMALL_INLINE } from '../conformance/execution-copies-runs.ts';
import { ownRuns } from '../conformance/execution-fixtures.ts';
import { roomForBytes } from '../conformance/execution-maintenance-fixtures.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';

/** Runs that an archive copies from one database to another continue there and end once. */

interface Provider {
  readonly name: string;
  readonly missing: string | undefined;
  readonly open: () => Promise<RecordStore>;
}

const sqlite: Provider = {
  name: 'sqlite',
  missing: undefined,
  async open() {
    const path = join(await mkdtemp(join(tmpdir(), 'svc-runs-')), 'runs.sqlite');
    return openSqliteStore({ path, ...machine, grouping: true, collections });
  },
};
const others: readonly Provider[] = [
  {
    name: 'postgresql',
    missing: postgresMissing,
    open: async () => openPostgresStore({ ...postgresOptions(), collections }),
  },
  {
    name: 'mysql',
    missing: mysqlMissing,
    open: async () => openMysqlStore({ ...(await createMysqlDatabase()).options(), poolSize: 4 }),
  },
  {
    name: 'firestore',
    missing: firestoreMissing,
    open: async () => openFirestoreStore({ ...firestoreOptions(), collections }),
  },
];

const shards = { options: { ...SMALL_INLINE.options, counterShards: 8 } };

describe.each(others)('runs between sqlite and $name', ({ missing, open }) => {
  test.skipIf(missing !== undefined)('go on in the other database, and on the way back', async () => {
    const [near, far] = await Promise.all([sqlite.open(), open()]);
    try {
      const home = ownRuns(near, { ...SMALL_INLINE, blobs: await roomForBytes() });
      const away = ownRuns(far, { ...shards, blobs: await roomForBytes() });
      const begun = await begin(home);
      away.clock.now += 60_000;
      const out = await archived(home, ALL_RUNS);
      await restoreRuns(away.instance.runtime, out.archive, ALL_RUNS);

      const back = ownRuns(near, { ...SMALL_INLINE, blobs: await roomForBytes() });
      back.clock.now += 120_000;
      const of = { tenantId: begun.tenantId, productId: 'copies' };
      const returned = await archived(away, of);
      expect(returned.manifest.counts).toEqual(out.manifest.counts);
      await restoreRuns(back.instance.runtime, returned.archive, of);

      await goOn(away, begun);
      await goOn(back, begun);
    } finally {
      await Promise.all([near.close(), far.close()]);
    }
  });
});
