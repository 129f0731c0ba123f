import { afterAll, beforeAll, describe, test } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeArtifacts } from './execution-artifacts.ts';
import { describeCeiling } from './execution-ceiling.ts';
import { describeCheckpointEvents } from './execution-checkpoint-events.ts';
import { describeChildren } from './execution-children.ts';
import { describeChildCopies } from './execution-children-copies.ts';
import { describeChildRights } from './execution-children-rights.ts';
import { describeCooperation } from './execution-cooperation.ts';
import { describeRunCopies } from './execution-copies.ts';
import { describeFirstCheckpoints } from './execution-first-checkpoints.ts';
import { describeHandlers } from './execution-handlers.ts';
import { describeHistory } from './execution-history.ts';
import { describeLeaseMembers } from './execution-lease-members.ts';
import { describeLimits } from './execution-limits.ts';
import { describeLists } from './execution-lists.ts';
import { describeMaintenance } from './execution-maintenance.ts';
import { describeNamedWaits } from './execution-named-waits.ts';
import { describePolicies } from './execution-policy.ts';
import { describeQuietStarts } from './execution-quiet-starts.ts';
import { describeRefusedStarts } from './execution-refused.ts';
import { describeRelease } from './execution-release.ts';
import { describeRepeats } from './execution-repeats.ts';
import { describeResults } from './execution-results.ts';
import { describeRetention } from './execution-retention.ts';
import { describeRunLeases } from './execution-run-leases.ts';
import { describeRuns } from './execution-runs.ts';
import { describeRuntime } from './execution-runtime.ts';
import { describeSlowStore } from './execution-slow-store.ts';
import { describeStartKeys } from './execution-start-keys.ts';
import { describeStartWaits } from './execution-start-waits.ts';
import { describeSteps } from './execution-steps.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { describeTenantDeletion } from './execution-tenant-deletion.ts';
import { describeTexts } from './execution-texts.ts';
import { describeUnread } from './execution-unread.ts';
import { describeUpgrade } from './execution-upgrade.ts';
import { describeVisible } from './execution-visible.ts';
import { describeWaits } from './execution-waits.ts';
import { describeWorkers } from './execution-worker.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Part B of the specification, row by row, against any provider. Each test owns a scope of runs. */
export function describeExecution(tested: TestedStore, { rivals }: { readonly rivals: number }): void {
  describe(`execution runtime on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, executionCollections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: ExecutionConformance = {
      store: () => store,
      rivals,
      alone: tested.delivers ? () => undefined : (...given) => test(...given),
    };
    // Admission and what is read:
    describeRuntime(conformance);
    describeRuns(conformance);
    describeStartWaits(conformance);
    describeStartKeys(conformance);
    describeQuietStarts(conformance);
    describeRefusedStarts(conformance);
    describeResults(conformance);
    describeCeiling(conformance);
    describeLists(conformance);
    describeHistory(conformance);
    describeLimits(conformance);
    describeTexts(conformance);
    describePolicies(conformance);
    describeUnread(conformance);
    describeArtifacts(conformance);
    // Workers, waits and handlers:
    describeWorkers(conformance);
    describeLeaseMembers(conformance);
    describeCheckpointEvents(conformance);
    describeWaits(conformance);
    describeNamedWaits(conformance);
    describeRepeats(conformance);
    describeRelease(conformance);
    describeChildren(conformance);
    describeChildRights(conformance);
    describeCooperation(conformance);
    describeFirstCheckpoints(conformance);
    describeHandlers(conformance);
    describeSteps(conformance);
    describeRunLeases(conformance);
    describeSlowStore(conformance);
    // Operators:
    describeMaintenance(conformance);
    describeRetention(conformance);
    describeVisible(conformance);
    describeUpgrade(conformance);
    describeRunCopies(conformance);
    describeChildCopies(conformance);
    describeTenantDeletion(conformance);
  });
}
