import type { JsonObject } from '../kernel/canonical-json.ts';
import type { PageMost } from './find-page.ts';
import { offsetToken, type PageRequest } from './rules/offset-page.ts';
import { etagOf } from './rules/record-stamp.ts';
import { namedRecord, type StoredText } from './rules/stored-text.ts';
import type { ResultIdentity } from './search/diagnostics.ts';
import { printedNumber } from './search/numbers.ts';
import { type SearchReader, textsOf } from './search-reader.ts';

/** A record of a ranked answer. */
export interface RankedRecord {
  /** The store's id of the record. */
  readonly id: string;
  /** A float32. */
  readonly score: number;
  readonly diagnose: (identity: ResultIdentity) => JsonObject;
}

export interface SearchedPage {
  /** The JSON texts of the matches: each has `record`, `score` and `diagnostics`. */
  readonly matches: readonly string[];
  readonly continuationToken: string | null;
}

/** The JSON text of a match. `diagnostics` is JSON, too. */
export function matchJson(record: string, score: string, diagnostics: string): string {
  return `{"record":${record},"score":${score},"diagnostics":${diagnostics}}`;
}

/** One page of a ranked answer. The first match of a page may exceed the bound on bytes. */
export async function answerPage(
  reader: SearchReader,
  collection: string,
  ranked: readonly RankedRecord[],
  { offset, limit }: PageRequest,
  most: PageMost,
): Promise<SearchedPage> {
  const some = ranked.slice(offset, offset + Math.min(limit ?? most.records, most.records));
  const known = new Map(some.map((each) => [each.id, each]));
  const matches: string[] = [];
  let bytes = 0;
  for await (const { id, stored } of textsOf(
    reader,
    some.map((each) => each.id),
  )) {
    const json = matchOf(collection, known.get(id)!, stored);
    const size = Buffer.byteLength(json) + 1;
    if (matches.length > 0 && bytes + size > most.bytes) break;
    reader.bytes.add(size);
    matches.push(json);
    bytes += size;
  }
  const end = offset + matches.length;
  return { matches, continuationToken: end < ranked.length ? offsetToken(end) : null };
}

function matchOf(collection: string, { score, diagnose }: RankedRecord, stored: StoredText): string {
  const { id, partitionKey, type, json } = namedRecord(stored);
  const { revision } = stored;
  const identity = { collection, partitionKey, id, type, etag: etagOf(revision), revision };
  return matchJson(json, JSON.stringify(printedNumber(score)), JSON.stringify(diagnose(identity)));
}
