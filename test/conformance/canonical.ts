import { afterAll, beforeAll, describe } from 'vitest';
import { collections } from '../../functions/groups/canonical/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeCommit } from './canonical-commit.ts';
import { describeCommitSizes } from './canonical-commit-sizes.ts';
import { describeCopies } from './canonical-copies.ts';
import { describeFences } from './canonical-fences.ts';
import { describeGetUsage } from './canonical-get-usage.ts';
import { describeIdempotency } from './canonical-idempotency.ts';
import { describeMigrations } from './canonical-migrations.ts';
import { describeNames } from './canonical-names.ts';
import { describeOutbox } from './canonical-outbox.ts';
import { describeOutboxLog } from './canonical-outbox-log.ts';
import { describeOutboxRetention } from './canonical-outbox-retention.ts';
import { describeOutboxWait } from './canonical-outbox-wait.ts';
import { describePreconditions } from './canonical-preconditions.ts';
import { describePreflight } from './canonical-preflight.ts';
import { describeQueries } from './canonical-query.ts';
import { describeReadCanonicalFence } from './canonical-read-canonical-fence.ts';
import type { Conformance } from './canonical-suite.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Part A of the specification, row by row, against any provider. Each test owns a tenant. */
export function describeCanonical(tested: TestedStore, { rivals }: { readonly rivals: number }): void {
  describe(`canonical store on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, collections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: Conformance = { store: () => store, rivals };
    describeCommit(conformance);
    describeCommitSizes(conformance);
    describePreconditions(conformance);
    describeQueries(conformance);
    describeNames(conformance);
    describeIdempotency(conformance);
    describeFences(conformance);
    describeOutbox(conformance);
    describeOutboxWait(conformance);
    describeOutboxRetention(conformance);
    describeOutboxLog(conformance);
    describeMigrations(conformance);
    describePreflight(conformance);
    describeCopies(conformance);
    describeReadCanonicalFence(conformance);
    describeGetUsage(conformance);
  });
}
