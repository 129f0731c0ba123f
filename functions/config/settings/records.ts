import { integer, truth } from '../kinds.ts';
import { setting } from '../setting.ts';

/** Collections and records, in the database of the canonical store. */
// biome-ignore format: a table reads better with one setting a line or two
export const records = {
  enabled: setting('Records:Enabled', truth(), true,
    'Whether the service serves collections and records; without them their routes do not exist. They need the execution runtime.'),
  entryVersion: setting<number | null>('Records:EntryVersion', integer(1, 1), null,
    'Version of the search entries that the server writes: its own, or that of the previous release. Default: that of the previous release until none of its servers has run for ten minutes, then its own. Set it to that of the previous release before a rollback: maintenance then converts collections back.'),
  importPayloadBytesMax: setting<number>('Records:ImportPayloadBytesMax', integer(65_536, 33_554_432), 1_048_576,
    'Largest payload of an import of a collection, a batch of records, an embedding job or a graph job.', { unit: 'bytes' }),
  lexicalCandidatesMax: setting<number | null>('Records:LexicalCandidatesMax', integer(10, 1_000_000), null,
    'Records that one search by words may score, also where its scanLimit is larger. Default: 500 with the provider firestore, where each is a billed read, 5000 with the others.', { unit: 'records' }),
  longReadsMax: setting('Records:LongReadsMax', integer(1, 1_000), 6,
    'Queries, searches, exports and inspections that may read many records at once in a process. A space has a third of these places; further calls wait.', { unit: 'calls' }),
  readsPerCallMax: setting<number | null>('Records:ReadsPerCallMax', integer(100, 10_000_000), null,
    'Records that one query or search may read; a larger one is refused, and the refusal names the remedy. Default: 5000 with the provider firestore, 200000 with the others.', { unit: 'records' }),
  vectorMemoryBytes: setting('Records:VectorMemoryBytes', integer(1_048_576, 1_099_511_627_776), 536_870_912,
    'Memory of a process for the vectors of collections that are searched, about one byte a number: 512 MiB hold 1.2 million vectors of 384 dimensions. The least recently searched go; vectors that do not fit are read from the database, at most Records:ReadsPerCallMax a search. Without effect with the provider firestore.', { unit: 'bytes' }),
} as const;

/** Records that one query or search may read where the setting is absent. Each read of Firestore is billed. */
export function readsPerCallMax(given: number | null, provider: string): number {
  return given ?? (provider === 'firestore' ? 5_000 : 200_000);
}

/** Records that one search by words may score where the setting is absent. */
export function lexicalCandidatesMax(given: number | null, provider: string): number {
  return given ?? (provider === 'firestore' ? 500 : 5_000);
}
