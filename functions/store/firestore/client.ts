import {
  Firestore,
  type Timestamp,
  type VectorQuery,
  type VectorQuerySnapshot,
  type WriteBatch,
} from '@google-cloud/firestore';
import { type Timers } from '../../kernel/world.ts';
import { StoreError } from '../port.ts';

export interface ClientOptions {
  readonly projectId?: string;
  readonly databaseId?: string;
  readonly emulatorHost?: string;
}

/** A commit may wait about 15 s for the locks of others before Firestore fails it. */
const commitTimeoutMs = 20_000;
/** The library tries a failed stream several times, each within `tryMs`; `allMs` bounds them all. */
const readTimes = { tryMs: 20_000, allMs: 30_000 };
/** The emulator reads its documents one after the other, on a machine that does all the rest too. */
const emulatorReadTimes = { tryMs: 120_000, allMs: 180_000 };

/** Nothing is contacted before the first call. */
export function createClient({ projectId, databaseId, emulatorHost }: ClientOptions): Firestore {
  return new Firestore({
    ...(projectId === undefined ? {} : { projectId }),
    ...(databaseId === undefined ? {} : { databaseId }),
    ...(emulatorHost === undefined ? {} : { host: emulatorHost, ssl: false }),
    // Without this option every failing query or read pauses 2 s and 4 s before the error, for any reason.
    gaxServerStreamingRetries: true,
    clientConfig: { interfaces: { 'google.firestore.v1.Firestore': callConfig(emulatorHost) } },
  });
}

/** The defaults are 60 s to 300 s a try, over ten minutes; here a call fails while its caller still waits. */
function callConfig(emulatorHost: string | undefined): object {
  const { tryMs } = emulatorHost === undefined ? readTimes : emulatorReadTimes;
  const read = { timeout_millis: tryMs, retry_codes_name: 'none' };
  const write = { timeout_millis: commitTimeoutMs };
  return {
    retry_codes: { none: [] },
    methods: {
      BatchGetDocuments: read,
      RunQuery: read,
      RunAggregationQuery: read,
      ListCollectionIds: read,
      ListDocuments: read,
      Commit: write,
      BatchWrite: write,
    },
  };
}

/** The used members of `google.firestore.v1.CommitResponse` and `BatchWriteResponse`. */
export interface BatchReply {
  readonly status?: readonly { readonly code?: number | null; readonly message?: string | null }[] | null;
}

/**
 * Sends the batch once. The public `commit()` retries for up to ten minutes, even a batch that was refused for its size,
 * and may apply a write long after its caller got the answer that the outcome is unknown. `BulkWriter` sends 20 writes in a
 * request of any size. The library's own transaction and BulkWriter use this same method; every write of the
 * tests on the emulator fails when a release changes it.
 */
export function sendBatch(batch: WriteBatch, methodName: 'commit' | 'batchWrite'): Promise<BatchReply> {
  const sender = batch as unknown as {
    _commit(options: { methodName: string; retryCodes: readonly number[] }): Promise<BatchReply>;
  };
  // oxlint-disable-next-line no-underscore-dangle
  return sender._commit({ methodName, retryCodes: [] });
}

/**
 * The nearest as of a moment. A transaction of the library reads every other query at one, and refuses those by vector;
 * the library sends both by this same method, which takes the moment.
 */
export async function nearestAt(query: VectorQuery, readTime: Timestamp): Promise<VectorQuerySnapshot> {
  const sender = query as unknown as {
    readonly _queryUtil: {
      _getResponse(
        query: VectorQuery,
        readTime: Timestamp,
        retryWithCursor: boolean,
      ): Promise<{ readonly result?: VectorQuerySnapshot }>;
    };
  };
  // oxlint-disable-next-line no-underscore-dangle
  const { result } = await sender._queryUtil._getResponse(query, readTime, false);
  if (result === undefined) throw new StoreError('unavailable', 'Firestore gave no answer to a search');
  return result;
}

/** How long all tries of one read may take. */
export function readsTimeoutMs({ emulatorHost }: ClientOptions): number {
  return (emulatorHost === undefined ? readTimes : emulatorReadTimes).allMs;
}

export function withinTime<T>(timers: Timers, work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(timeoutMs, () => {
      reject(new StoreError('unavailable', `Firestore did not answer within ${timeoutMs} ms`));
    });
    work.finally(cancel).then(resolve, reject);
  });
}
