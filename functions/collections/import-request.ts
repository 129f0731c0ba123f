import { limits } from '../../contracts/generated/limits.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import type { Turns } from '../kernel/turns.ts';
import {
  type CollectionPolicy,
  checkCollectionName,
  type PolicyRequest,
  readPolicy,
} from './rules/policy.ts';
import { splitInSteps } from './rules/request-items.ts';
import { compareSnapshotHashes, type HashComparison, SnapshotHash } from './rules/snapshot/snapshot-hash.ts';
import { ValueHash } from './rules/snapshot/value-hash.ts';

const IMPORT_RECORDS_MAX = 10_000;

/** An import that has passed its rules. */
export interface ImportRequest {
  readonly sourceCollection: string;
  /** The policy, with the name of the source collection. */
  readonly policy: CollectionPolicy;
  /** The records as JSON texts. */
  readonly records: readonly string[];
  readonly expectedHash: string | null;
  readonly values: ExpectedValues;
  readonly replaceExisting: boolean;
  readonly continueOnError: boolean;
}

/** The value hash, which is checked if the content hash fails. */
interface ExpectedValues {
  /** The expected value hash; `null` for none. */
  readonly hash: string | null;
  /** Whether the value hash is also checked if no content hash is expected. */
  readonly isRequired: boolean;
  /** The values as the request holds them. */
  readonly collection: string | null | undefined;
  readonly policy: PolicyRequest | null | undefined;
}

interface ImportFrame {
  readonly snapshot?: SnapshotFrame | null;
  readonly expectedContentHash?: string | null;
  readonly expectedValueHash?: string | null;
  readonly replaceExisting?: boolean | null;
  readonly continueOnError?: boolean | null;
  readonly allowCollectionRename?: boolean | null;
  readonly allowPartialSnapshot?: boolean | null;
}

interface SnapshotFrame {
  readonly collection?: string | null;
  readonly policy?: PolicyRequest | null;
  readonly query?: object | null;
  readonly recordCount?: number | null;
  readonly truncated?: boolean | null;
  readonly contentHash?: string | null;
  readonly valueHash?: string | null;
}

/**
 * Reads the compact JSON text of an import that its schema has accepted, in steps, because the text may have 32 MB. Throws
 * `validation_failed` or `limit_exceeded` naming the member. The hash, which needs every record, is compared separately.
 */
export function* readImport(text: string, target: string): Generator<void, ImportRequest> {
  const split = yield* splitInSteps(text, ['snapshot', 'records']);
  const frame = parseJson(split?.frame ?? text) as ImportFrame;
  const { snapshot } = frame;
  if (snapshot === null || snapshot === undefined) throw invalidMember('/snapshot', 'must be present');
  const records = split?.items ?? [];
  if (records.length > IMPORT_RECORDS_MAX) {
    const detail = `must hold at most ${IMPORT_RECORDS_MAX} records`;
    throw invalidMember('/snapshot/records', detail, 'limit_exceeded');
  }
  checkSnapshot(frame, snapshot, records.length);
  const policy = readPolicy(snapshot.policy ?? { name: '' }, '/snapshot/policy');
  const sourceCollection = checkCollectionName(snapshot.collection ?? policy.name, '/snapshot/collection');
  if (sourceCollection !== target && frame.allowCollectionRename !== true) {
    const place = (snapshot.collection ?? null) === null ? '/snapshot/policy/name' : '/snapshot/collection';
    throw invalidMember(
      place,
      'must be the collection that takes the records, unless allowCollectionRename is true',
    );
  }
  return {
    sourceCollection,
    policy,
    records,
    ...expectedHashes(frame, snapshot),
    replaceExisting: frame.replaceExisting ?? false,
    continueOnError: frame.continueOnError ?? false,
  };
}

/** Hashes that the caller gives separately decide: those inside the export may have been changed together with its records. */
function expectedHashes(
  { expectedContentHash = null, expectedValueHash = null }: ImportFrame,
  { contentHash = null, valueHash = null, collection, policy }: SnapshotFrame,
): Pick<ImportRequest, 'expectedHash' | 'values'> {
  const isKept = expectedContentHash !== null || expectedValueHash !== null;
  return {
    expectedHash: isKept ? expectedContentHash : contentHash,
    values: {
      hash: isKept ? expectedValueHash : valueHash,
      isRequired: expectedValueHash !== null || contentHash === null,
      collection,
      policy,
    },
  };
}

function checkSnapshot(
  { allowPartialSnapshot }: ImportFrame,
  { query, recordCount, truncated }: SnapshotFrame,
  count: number,
): void {
  const { recordQueryBodyBytesMax: queryBytesMax } = limits;
  if (Buffer.byteLength(JSON.stringify(query ?? null)) > queryBytesMax)
    throw invalidMember('/snapshot/query', `must have at most ${queryBytesMax} bytes`, 'limit_exceeded');
  if (recordCount !== null && recordCount !== undefined && recordCount !== count)
    throw invalidMember('/snapshot/recordCount', `must be ${count}, the number of its records`);
  if (truncated === true && allowPartialSnapshot !== true)
    throw invalidMember('/snapshot/truncated', 'must not be true unless allowPartialSnapshot is');
}

/**
 * Compares content whose hash is known. Reads the values only if that hash fails or is not expected. Throws
 * `content_hash_mismatch` if no expected hash matches.
 */
export async function comparisonWith(
  { expectedHash, values, records }: ImportRequest,
  contentHash: string,
  turns: Turns,
): Promise<HashComparison & { readonly contentHash: string }> {
  const comparison = { ...compareSnapshotHashes(expectedHash, contentHash), contentHash };
  const isAsked =
    comparison.status === 'drifted' || (comparison.status === 'not_provided' && values.isRequired);
  const content = { name: 'content hash', expected: expectedHash, found: contentHash };
  if (!isAsked || values.hash === null) {
    if (comparison.status === 'drifted') throw hashDrifted([content]);
    return comparison;
  }
  const hash = new ValueHash(values.collection, values.policy);
  for (const record of records) {
    hash.add(record);
    if (turns.due()) await turns.next();
  }
  const found = hash.digest();
  if (found !== values.hash.toLowerCase())
    throw hashDrifted([content, { name: 'value hash', expected: values.hash, found }]);
  return { ...comparison, compared: true, matches: true, status: 'matched_by_value' };
}

/** The hash of the content and its comparison. Other calls of the process run between the records. */
export async function hashImport(
  request: ImportRequest,
  turns: Turns,
): Promise<HashComparison & { readonly contentHash: string }> {
  const hash = new SnapshotHash(request.sourceCollection, request.policy);
  for (const [index, record] of request.records.entries()) {
    addTo(hash, record, index);
    if (turns.due()) await turns.next();
  }
  return comparisonWith(request, hash.digest(), turns);
}

/** A vector with a number beyond float32 has no hash: the request is at fault. */
function addTo(hash: SnapshotHash, record: string, index: number): void {
  try {
    hash.add(record);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalidMember(`/snapshot/records/${index}`, 'must hold vectors of finite float32 numbers');
  }
}

interface Drifted {
  readonly name: string;
  readonly expected: string | null;
  readonly found: string;
}

/** The refusal of content that does not match a hash: it shows the expected and the actual hash. */
function hashDrifted(hashes: readonly Drifted[]): ServiceError {
  const shown = hashes.flatMap(({ name, expected, found }) =>
    expected === null ? [] : [`the ${name} is ${found}, expected was ${hashText(expected)}`],
  );
  const detail = `The records do not match the expected hash: ${shown.join('; ')}.`;
  return new ServiceError('content_hash_mismatch', detail);
}

/** Shows an expected hash only if it has the form of one: a caller may send any short text. */
function hashText(expected: string): string {
  return /^(?:sha256:)?[0-9a-f]{64}$/i.test(expected) ? expected : 'a text that is no SHA-256';
}
