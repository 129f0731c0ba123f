import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { readRun, runRecord } from '../../functions/runs/records.ts';
import type { Run } from '../../functions/runs/run.ts';
import type {
  KeysSelection,
  LoadedRecords,
  RecordData,
  RecordKey,
  RecordStore,
  Scope,
  Write,
} from '../../functions/store/port.ts';
import { type ExecutionOperation, executionCall } from './execution-calls.ts';
import { type ExecutionFlaw, STORE_FLAWS } from './execution-store-flaws.ts';
import { between, type Show } from './flaws.ts';

const as: Show = (each) => each;

function during(...operations: readonly ExecutionOperation[]): boolean {
  const operation = executionCall()?.operation;
  return operation !== undefined && operations.includes(operation);
}

/** Whether the run has been read with its body. */
function isRun({ key, body }: RecordData): boolean {
  return key.collection === 'runs' && typeof body === 'string';
}

/** Rules see a run as `change` makes it. */
function shown(change: (run: Run) => Partial<Run> | null): Show {
  return (record) => {
    if (!isRun(record)) return record;
    const run = readRun(record);
    const changed = change(run);
    if (changed === null) return record;
    const made = { ...run, ...changed };
    const head = { ...record.head, leaseExpiresAt: made.lease?.expiresAt ?? null };
    return { ...record, head, body: JSON.stringify(made) };
  };
}

/** A run is written as `change` makes it, which also sees the one that was there. */
function written(change: (after: Run, before: Run | undefined) => Partial<Run> | null) {
  return (write: Write, found: LoadedRecords): Write => {
    if (!('put' in write) || !isRun(write.put)) return write;
    const stored = found.get(write.put.key);
    const after = readRun(write.put);
    const changed = change(after, stored === undefined ? undefined : readRun(stored));
    return changed === null ? write : { put: runRecord({ ...after, ...changed }) };
  };
}

/** Drops every write to one collection. */
function dropped(collection: string, when: () => boolean = () => true) {
  return (write: Write): Write | undefined =>
    'put' in write && write.put.key.collection === collection && when() ? undefined : write;
}

/** Drops every removal from one collection. */
function unremoved(collection: string) {
  return (write: Write): Write | undefined =>
    'remove' in write && write.remove.collection === collection ? undefined : write;
}

/** The record of a run is written otherwise where `when` says so of it. */
function misfiled(change: (put: RecordData) => Partial<RecordData>, when: (run: Run) => boolean) {
  return (write: Write): Write =>
    'put' in write && isRun(write.put) && when(readRun(write.put))
      ? { put: { ...write.put, ...change(write.put) } }
      : write;
}

const restoreLease = written((after, before) =>
  after.lease === null || before?.lease == null || after.attempt !== before.attempt
    ? null
    : { lease: { ...after.lease, tokenHash: before.lease.tokenHash, workerId: before.lease.workerId } },
);

const HOUR = 3_600_000;
const HOLDERS: readonly ExecutionOperation[] = [
  'reportExternalExecutionLease',
  'completeExternalExecutionLease',
  'waitExternalExecutionLease',
];

/** Neither a look nor a transaction shows who has a concurrency key. */
function withoutSlots(store: RecordStore): RecordStore {
  const isSlot = (key: RecordKey) => key.collection === 'slots';
  const wrapped = between((each) => (isSlot(each.key) ? undefined : each))(store);
  const query = async (scope: Scope, selection: KeysSelection) => {
    const page = await store.query(scope, selection);
    return 'records' in page ? { ...page, records: page.records.filter(({ key }) => !isSlot(key)) } : page;
  };
  return { ...wrapped, query: query as unknown as RecordStore['query'] };
}

const LEASE_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'any-token': {
    about: 'a completion does not compare its token',
    wrap: between(
      shown((run) => {
        const body = executionCall()?.body as { leaseToken?: string; workerId?: string } | null | undefined;
        if (!during('completeExternalExecutionLease') || run.lease === null) return null;
        const tokenHash = sha256(body?.leaseToken ?? '');
        return { lease: { ...run.lease, tokenHash, workerId: body?.workerId ?? '' } };
      }),
      restoreLease,
    ),
  },
  'outlived-lease': {
    about: 'an expired lease is valid until another worker takes the run',
    wrap: between(
      shown((run) =>
        during(...HOLDERS) && run.lease !== null
          ? { lease: { ...run.lease, expiresAt: run.lease.expiresAt + HOUR } }
          : null,
      ),
      written((after, before) =>
        during(...HOLDERS) && after.lease !== null && before?.lease != null
          ? { lease: { ...after.lease, expiresAt: before.lease.expiresAt } }
          : null,
      ),
    ),
  },
  'taken-too-early': {
    about: 'a run is taken from a holder whose lease still holds',
    wrap: between(
      shown((run) =>
        during('leaseExternalExecutionRun') && run.lease !== null
          ? { lease: { ...run.lease, expiresAt: run.lease.acquiredAt + 1 } }
          : null,
      ),
    ),
  },
  'attempt-uncounted': {
    about: 'a lease is not counted',
    wrap: between(
      as,
      written((after, before) =>
        after.status === 'running' && before?.status === 'queued' ? { attempt: before.attempt } : null,
      ),
    ),
  },
  'expiry-uncounted': {
    about: 'a lease that ran out is not counted',
    wrap: between(
      as,
      written((_, before) => (before === undefined ? null : { leaseExpirations: before.leaseExpirations })),
    ),
  },
  'lost-heartbeat': {
    about: 'a heartbeat is answered, and the lease stays as long as it was',
    wrap: between(
      as,
      dropped('runs', () => during('heartbeatExternalExecutionLease')),
    ),
  },
  'forgotten-completion': {
    about: 'a repeated completion is answered as if the worker had never held the run',
    wrap: between(shown((run) => (run.endedLease?.how === 'completed' ? { endedLease: null } : null))),
  },
  'key-ignored': {
    about: 'the concurrency key is not checked before a run is leased',
    wrap: withoutSlots,
  },
};

const RUN_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'ceiling-ignored': {
    about: 'runs are admitted beyond the ceiling',
    wrap: between(
      (each) =>
        each.key.collection === 'counters' && during('startExecutionRun')
          ? { ...each, head: { active: 0 } }
          : each,
      (write, found) => {
        if (!('put' in write) || write.put.key.collection !== 'counters' || !during('startExecutionRun'))
          return write;
        const active = Number(found.get(write.put.key)?.head.active ?? 0) + 1;
        return { put: { ...write.put, head: { active } } };
      },
    ),
  },
  'counted-for-ever': {
    about: 'a run that is over still takes its room',
    wrap: between(
      as,
      dropped('counters', () => !during('startExecutionRun')),
    ),
  },
  'forgotten-key': { about: 'a start does not keep its key', wrap: between(as, dropped('admissions')) },
  'kept-key': {
    about: 'a prune removes a run and not its key',
    wrap: between(as, unremoved('admissions')),
  },
  'left-behind': {
    about: 'a prune leaves older parts of traces',
    wrap: between(as, unremoved('traces')),
  },
  'raised-from-the-dead': {
    about: 'a run that is over can be leased',
    wrap: between(
      shown((run) =>
        during('leaseExternalExecutionRun') && run.completedAt !== null ? { status: 'queued' } : null,
      ),
    ),
  },
  'retry-without-end': {
    about: 'failures are not held against the number of attempts',
    wrap: between(
      shown(() => (during('completeExternalExecutionLease') ? { failures: 0 } : null)),
      written((after, before) =>
        during('completeExternalExecutionLease') && before !== undefined && after.failures > 0
          ? { failures: before.failures + 1 }
          : null,
      ),
    ),
  },
  'retry-at-once': {
    about: 'a retry does not wait for its delay',
    wrap: between(
      as,
      written((after, before) =>
        during('completeExternalExecutionLease') && after.status === 'waiting' && before !== undefined
          ? { scheduledAt: before.createdAt }
          : null,
      ),
    ),
  },
  'lost-result': {
    about: 'the result of a completion is not kept',
    wrap: between(
      as,
      written((after) => (after.status === 'succeeded' ? { result: { json: null } } : null)),
    ),
  },
  'deaf-to-cancel': {
    about: 'a completion overrides a requested cancellation of the run',
    wrap: between(
      shown(() => (during('completeExternalExecutionLease') ? { cancellationRequested: false } : null)),
    ),
  },
  'parked-though-cancelled': {
    about: 'a run that was to be cancelled waits all the same',
    wrap: between(
      shown(() => (during('waitExternalExecutionLease') ? { cancellationRequested: false } : null)),
    ),
  },
  'forgotten-due': {
    about: 'a run that waits for its moment is never due',
    wrap: between(
      as,
      misfiled(
        () => ({ due: null }),
        ({ status }) => status === 'waiting',
      ),
    ),
  },
  'forgotten-lane': {
    about: 'a run that was taken back is not offered again',
    wrap: between(
      as,
      misfiled(
        ({ listing }) => (listing ? { listing: { ...listing, indexes: {} } } : {}),
        ({ status, attempt }) => status === 'queued' && attempt > 0,
      ),
    ),
  },
};

const EVENT_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'event-twice': {
    about: 'the outcome of a wait stays where it is when it is taken',
    wrap: between(
      as,
      written((after, before) =>
        during('waitExternalExecutionLease') &&
        before !== undefined &&
        after.outcomes.length < before.outcomes.length
          ? { outcomes: before.outcomes, inbox: before.inbox }
          : null,
      ),
    ),
  },
  'forgotten-wait': {
    about: 'a wait whose answer was lost is made a second time',
    wrap: between(
      shown((run) => (during('waitExternalExecutionLease') && run.answered ? { answered: [] } : null)),
    ),
  },
  'event-dropped': {
    about: 'an event is dropped where no wait exists yet',
    wrap: between(
      as,
      written((_, before) =>
        during('raiseExecutionEvent') && before !== undefined ? { inbox: before.inbox } : null,
      ),
    ),
  },
  'newest-first': {
    about: 'a wait consumes the newest event',
    wrap: between(
      shown((run) => (during('waitExternalExecutionLease') ? { inbox: backwards(run) } : null)),
      written((after, before) =>
        during('waitExternalExecutionLease') && before !== undefined
          ? { inbox: before.inbox.filter(({ id }) => after.inbox.some((event) => event.id === id)) }
          : null,
      ),
    ),
  },
  'late-event': {
    about: 'an event still ends a wait whose deadline has passed',
    wrap: between(
      shown(({ wait }) =>
        during('raiseExecutionEvent') && wait !== null ? { wait: { ...wait, dueAt: null } } : null,
      ),
      written((after, before) =>
        during('raiseExecutionEvent') && after.wait !== null ? { wait: before?.wait ?? null } : null,
      ),
    ),
  },
  'ids-of-the-clock': {
    about: 'the ids of a trace follow the clocks of those who write it',
    wrap: between(
      shown(() => ({ lastSequenceId: '' })),
      written((after, before) =>
        after.lastSequenceId === '' && before !== undefined
          ? { lastSequenceId: before.lastSequenceId }
          : null,
      ),
    ),
  },
};

function backwards({ inbox }: Run): Run['inbox'] {
  return inbox.map((event) => ({ ...event, raisedAt: -event.raisedAt }));
}

export const EXECUTION_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  ...STORE_FLAWS,
  ...LEASE_FLAWS,
  ...RUN_FLAWS,
  ...EVENT_FLAWS,
};
