import { createHash } from 'node:crypto';
import type { CollectionPolicy } from '../policy.ts';
import { readOrderedJson } from './ordered-json.ts';
import { snapshotJson, snapshotObject, snapshotString } from './snapshot-json.ts';
import { recordText } from './snapshot-record.ts';

/**
 * The content hash of an export, over one record at a time: SHA-256 of `{"collection":…,"policy":…,"records":[…]}`. The
 * envelope around them (query, counts, time) is not part of it.
 */
export class SnapshotHash {
  readonly #hash = createHash('sha256');
  #records = 0;

  constructor(collection: string, policy: CollectionPolicy) {
    this.#hash.update(
      `{"collection":${snapshotString(collection)},"policy":${policyText(policy)},"records":[`,
    );
  }

  /** Adds the next record, given as a JSON text in its stored member order. */
  add(record: string): void {
    if (this.#records > 0) this.#hash.update(',');
    this.#records += 1;
    this.#hash.update(recordText(readOrderedJson(record)));
  }

  /** Ends the hash; nothing can be added any more. */
  digest(): string {
    return `sha256:${this.#hash.update(']}').digest('hex')}`;
  }
}

function policyText({ name, partitionKeyPath, vectorPolicies, indexedMetadata }: CollectionPolicy): string {
  const vectors = vectorPolicies.map((each) =>
    snapshotObject([
      ['name', snapshotString(each.name)],
      ['path', snapshotString(each.path)],
      ['dimensions', String(each.dimensions)],
      ['datatype', snapshotString(each.datatype)],
      ['distanceFunction', snapshotString(each.distanceFunction)],
      ['indexType', snapshotString(each.indexType)],
    ]),
  );
  return snapshotObject([
    ['name', snapshotString(name)],
    ['partitionKeyPath', snapshotString(partitionKeyPath)],
    ['vectorPolicies', `[${vectors.join(',')}]`],
    ['indexedMetadata', snapshotJson(indexedMetadata)],
  ]);
}

export interface HashComparison {
  readonly kind: 'collectionSnapshot';
  readonly expectedHash: string | null;
  readonly actualHash: string | null;
  readonly compared: boolean;
  readonly matches: boolean;
  readonly status: 'not_provided' | 'actual_missing' | 'matched' | 'matched_by_value' | 'drifted';
}

/** Compares the hash that an import expects with that of its content; the case of the digits does not matter. */
export function compareSnapshotHashes(
  expectedHash: string | null,
  actualHash: string | null,
): HashComparison {
  const common = { kind: 'collectionSnapshot', expectedHash, actualHash } as const;
  if (expectedHash === null) return { ...common, compared: false, matches: false, status: 'not_provided' };
  if (actualHash === null) return { ...common, compared: false, matches: false, status: 'actual_missing' };
  const equal = expectedHash.toLowerCase() === actualHash.toLowerCase();
  return { ...common, compared: true, matches: equal, status: equal ? 'matched' : 'drifted' };
}
