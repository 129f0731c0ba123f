import { createRecordParts, type RecordParts } from '../collections/parts.ts';
import { lexicalCandidatesMax, readsPerCallMax } from '../config/settings/records.ts';
import { answerBytesMaxOf } from './answer-bytes.ts';
import { layer } from './layer.ts';
import { readLanesOf } from './read-lanes.ts';

const PAGE_RECORDS_MAX = 5_000;
/** Firestore bounds a page by its number of records, not by bytes: this many records have at most 46 MB. */
const FIRESTORE_PAGE_RECORDS = 51;

/** The layer of collections and records over the store of the process. */
export const recordPartsOf = layer((parts): RecordParts => {
  const { settings, store, world } = parts;
  const { provider } = settings.canonicalStore;
  const readsMax = readsPerCallMax(settings.records.readsPerCallMax, provider);
  return createRecordParts({
    store: store.get,
    world,
    lanes: readLanesOf(parts),
    entryVersion: settings.records.entryVersion,
    limits: {
      readsPerCallMax: readsMax,
      lexicalCandidatesMax: lexicalCandidatesMax(settings.records.lexicalCandidatesMax, provider),
      pageRecordsMax: Math.min(PAGE_RECORDS_MAX, readsMax),
      answerBytesMax: answerBytesMaxOf(settings),
      ...(provider === 'firestore' ? { readPageMax: FIRESTORE_PAGE_RECORDS } : {}),
    },
  });
});
