import { createRecordParts, type RecordParts } from '../collections/parts.ts';
import { lexicalCandidatesMax, readsPerCallMax } from '../config/settings/records.ts';
import { answerBytesMaxOf } from './answer-bytes.ts';
import type { GroupParts } from './group.ts';

const PAGE_RECORDS_MAX = 5_000;
/** A page of Firestore has as many records as it is asked for, however large they turn out: this many make 46 MB at most. */
const FIRESTORE_PAGE_RECORDS = 51;

/** The layer of collections and records over the store of the process. */
export function recordPartsOf({
  settings,
  store,
  world,
}: Pick<GroupParts, 'settings' | 'store' | 'world'>): RecordParts {
  const { provider } = settings.canonicalStore;
  const readsMax = readsPerCallMax(settings.records.readsPerCallMax, provider);
  return createRecordParts({
    store: store.get,
    world,
    limits: {
      readsPerCallMax: readsMax,
      longReadsMax: settings.records.longReadsMax,
      lexicalCandidatesMax: lexicalCandidatesMax(settings.records.lexicalCandidatesMax, provider),
      pageRecordsMax: Math.min(PAGE_RECORDS_MAX, readsMax),
      answerBytesMax: answerBytesMaxOf(settings),
      ...(provider === 'firestore' ? { readPageMax: FIRESTORE_PAGE_RECORDS } : {}),
    },
  });
}
