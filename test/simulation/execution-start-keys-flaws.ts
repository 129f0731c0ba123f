import { RUN_INDEX, readRun, runRecord } from '../../functions/runs/records.ts';
import {
  type ListSelection,
  type LoadedRecords,
  type RecordData,
  type RecordStore,
  type Scope,
  StoreError,
  type Write,
} from '../../functions/store/port.ts';
import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { between } from './flaws.ts';

const FAR = Date.UTC(3000, 0, 1);

/** Whether the record shows the holder of a place: of those only the head is read. */
function isHolder({ key, body }: RecordData): boolean {
  return key.collection === 'runs' && body === undefined;
}

function held(record: RecordData): RecordData {
  return { ...record, head: { ...record.head, status: 'running', leaseExpiresAt: FAR } };
}

/** A replaced payload never reaches the store. */
function keepsPayload(write: Write, found: LoadedRecords): Write {
  if (!('put' in write) || write.put.key.collection !== 'runs' || typeof write.put.body !== 'string')
    return write;
  const stored = found.get(write.put.key);
  if (typeof stored?.body !== 'string') return write;
  const [before, after] = [readRun(stored), readRun(write.put)];
  if (before.payloadHash === after.payloadHash) return write;
  const { payload, payloadHash } = before;
  return { put: runRecord({ ...after, payload, payloadHash }) };
}

/** The slots of start keys are never due, and every second search for a waiting run fails, as in a crash before the offer. */
function unlooked(store: RecordStore): RecordStore {
  let searches = 0;
  const query = async (scope: Scope, selection: ListSelection) => {
    if (selection.equal?.[RUN_INDEX.waits] !== undefined && ++searches % 2 === 0)
      throw new StoreError('unavailable', 'the process dies');
    return store.query(scope, selection);
  };
  return {
    ...between((record) => record)(store),
    query: query as unknown as RecordStore['query'],
    claim: (scope, collection, ...rest) =>
      collection.name === 'slots' ? Promise.resolve([]) : store.claim(scope, collection, ...rest),
  };
}

/** Bugs around the keys of starts, planted on purpose. */
export const START_KEY_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'a-place-too-many': { about: 'a key has one place more than its limit', placesMore: 1 },
  'place-kept-for-ever': {
    about: 'a run that is over keeps its place',
    wrap: between((record) => (isHolder(record) && record.head.status !== 'queued' ? held(record) : record)),
  },
  'place-free-under-lease': {
    about: 'the place of a run that is executed is free',
    wrap: between((record) =>
      isHolder(record) && record.head.status === 'running'
        ? { ...record, head: { ...record.head, status: 'succeeded' } }
        : record,
    ),
  },
  'offer-lost-in-a-crash': { about: 'nothing looks after a key whose offer was lost', wrap: unlooked },
  'payload-kept': { about: 'a replaced payload is not stored', wrap: between((each) => each, keepsPayload) },
};
