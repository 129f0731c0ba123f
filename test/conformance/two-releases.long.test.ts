import { expect, test } from 'vitest';
import { patienceMs, share } from '../support/effort.ts';
import { openTemporaryStore } from './records-search-sqlite.ts';
import { retrievalCollections } from './retrieval-stage.ts';
import { TwoReleases } from './two-releases.ts';
import { upgradeAndBack } from './two-releases-scenario.ts';

const RECORDS = share(2_000, 100_000);
/** All searches are asked about 25 times on each way. */
const PAGES = Math.ceil(RECORDS / 50 / 25);

test(
  `two releases over one collection of ${RECORDS.toLocaleString('en')} records on SQLite answer every search right`,
  async () => {
    await using opened = await openTemporaryStore({ collections: retrievalCollections });
    const effort = { records: RECORDS, pages: PAGES };
    expect(await upgradeAndBack(new TwoReleases(opened.store, RECORDS), effort)).toBeNull();
  },
  patienceMs,
);
