import { invalidMember } from '../kernel/errors.ts';
import type { Turns } from '../kernel/turns.ts';

import { type QueryRequest, readListing } from './page-request.ts';
import type { RecordParts } from './parts.ts';
import { readAtOneMoment, tokenOf } from './query-records.ts';
import type { ReadCall } from './read-call.ts';
import { SnapshotHash } from './rules/snapshot/snapshot-hash.ts';
import { ValueHash } from './rules/snapshot/value-hash.ts';
import type { StoredCollection } from './stored-collection.ts';

const EXPORT_RECORDS_MAX = 10_000;

export interface ExportRequest {
  readonly query?: QueryRequest | null;
  readonly maxRecords?: number | null;
  readonly failOnLimitExceeded?: boolean | null;
}

export interface ExportedCollection {
  readonly collection: StoredCollection;
  /** The JSON texts of the records. */
  readonly records: readonly string[];
  readonly maxRecords: number;
  /** `null` unless the export is truncated. */
  readonly continuationToken: string | null;
  readonly contentHash: string;
  readonly valueHash: string;
}

/** Exports the policy and the records of a collection as of one moment, with the hash of both. Throws the refusal of the request. */
export async function exportCollection(
  parts: RecordParts,
  space: string,
  name: string,
  { query: request, maxRecords, failOnLimitExceeded }: ExportRequest,
  call: ReadCall = {},
): Promise<ExportedCollection> {
  const most = maxRecords ?? EXPORT_RECORDS_MAX;
  let isOwnLimit = false;
  const { collection, page } = await readAtOneMoment(parts, space, name, call, ({ policy }, read) => {
    const query = readListing(request ?? {}, policy, '/query');
    const { limit } = query.page;
    isOwnLimit = limit !== null && limit <= most;
    return read(query, { records: Math.min(limit ?? most, most), bytes: parts.limits.answerBytesMax });
  });
  const isCut = page.nextOffset !== null && (page.cutByBytes || !isOwnLimit);
  if (isCut && (failOnLimitExceeded ?? true)) throw tooMany(page.cutByBytes, most);
  const { records } = page;
  const hashes = await hashesOf(parts.world.turns.of(space), collection, records);
  return { collection, records, maxRecords: most, continuationToken: tokenOf(page), ...hashes };
}

function tooMany(cutByBytes: boolean, most: number) {
  const what = cutByBytes ? 'an answer can carry' : `${most} records`;
  const detail = `the export holds more than ${what}: set failOnLimitExceeded to false to get it in parts`;
  return invalidMember('/maxRecords', detail, 'limit_exceeded');
}

async function hashesOf(
  turns: Turns,
  { name, policy }: StoredCollection,
  records: readonly string[],
): Promise<Pick<ExportedCollection, 'contentHash' | 'valueHash'>> {
  const hash = new SnapshotHash(name, policy);
  const values = new ValueHash(name, policy);
  for (const record of records) {
    hash.add(record);
    values.add(record);
    if (turns.due()) await turns.next();
  }
  return { contentHash: hash.digest(), valueHash: values.digest() };
}
