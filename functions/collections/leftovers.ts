import type { RecordStore } from '../store/port.ts';
import { removeLedger } from './load-ledger.ts';
import type { RecordParts } from './parts.ts';
import type { StagedPayloads } from './staged-payloads.ts';
import { JOB_LEFTOVERS, leftoverKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** Time to deal with a leftover before another upkeep may take it. */
const CLAIM_MS = 120_000;
/** A ledger is checked again after this time while its run exists, because job views read it. */
const LEDGER_REST_MS = 6 * 3_600_000;
/** A payload without an active run is removed this long after it was staged. */
const PAYLOAD_REST_MS = 3_600_000;
const CLAIMED_MAX = 100;

interface Leftover {
  readonly kind: string;
  readonly space: string;
  readonly reference: string;
}

export interface LeftoverParts {
  readonly parts: RecordParts;
  readonly payloads: StagedPayloads;
  /** Whether an active run has the payload. */
  readonly isPayloadUsed: (reference: string) => Promise<boolean>;
  readonly runExists: (runId: string) => Promise<boolean>;
}

/** Makes upkeep remove the ledger of the run once the run is gone. Written before the ledger. */
export async function announceLedger(
  { store, world }: RecordParts,
  space: string,
  runId: string,
): Promise<void> {
  const key = leftoverKey('ledger', runId);
  const head = { kind: 'ledger', space, reference: runId };
  const due = world.clock.now() + LEDGER_REST_MS;
  const put = { key, head, body: null, listing: upkeepListing(key), due };
  await (await store()).transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, () => ({
    writes: [{ put }],
    result: null,
  }));
}

/** Removes staged payloads and ledgers that no run needs any more. If its time is over, the next call continues. */
export async function sweepLeftovers(sweep: LeftoverParts, isOver: () => boolean): Promise<number> {
  let removed = 0;
  // Many due leftovers may belong to runs that still exist: they must not delay the others.
  while (!isOver()) {
    const claimed = await claimLeftovers(sweep);
    if (claimed.length === 0) break;
    for (const leftover of claimed) {
      if (isOver()) break;
      if (await settleLeftover(sweep, leftover, isOver)) removed += 1;
    }
  }
  return removed;
}

async function claimLeftovers({ parts: { store, world } }: LeftoverParts): Promise<Leftover[]> {
  const now = world.clock.now();
  return (await store()).claim<Leftover>(
    UPKEEP_SCOPE,
    JOB_LEFTOVERS,
    { now, limit: CLAIMED_MAX },
    ({ key, head }) => ({
      put: { key, head, due: now + CLAIM_MS },
      result: head as unknown as Leftover,
    }),
  );
}

/** Returns whether the leftover is gone. */
async function settleLeftover(
  { parts, payloads, isPayloadUsed, runExists }: LeftoverParts,
  { kind, space, reference }: Leftover,
  isOver: () => boolean,
): Promise<boolean> {
  const store = await parts.store();
  const now = parts.world.clock.now();
  if (kind === 'payload') {
    if (await isPayloadUsed(reference)) {
      await rest(store, 'payload', reference, now + PAYLOAD_REST_MS);
      return false;
    }
    await payloads.discard(space, reference);
    return true;
  }
  if (await runExists(reference)) {
    await rest(store, 'ledger', reference, now + LEDGER_REST_MS);
    return false;
  }
  if (!(await removeLedger(store, space, reference, isOver))) return false;
  await drop(store, reference);
  return true;
}

async function rest(
  store: RecordStore,
  kind: 'payload' | 'ledger',
  reference: string,
  due: number,
): Promise<void> {
  const key = leftoverKey(kind, reference);
  await store.transact(UPKEEP_SCOPE, { keys: [{ key }], frees: true }, (found) => {
    const intent = found.get(key);
    return { writes: intent === undefined ? [] : [{ put: { key, head: intent.head, due } }], result: null };
  });
}

async function drop(store: RecordStore, runId: string): Promise<void> {
  const key = leftoverKey('ledger', runId);
  await store.transact(UPKEEP_SCOPE, { keys: [{ key }], frees: true }, (found) => ({
    writes: found.get(key) === undefined ? [] : [{ remove: key }],
    result: null,
  }));
}
