import { orderKey, type PartitionedKey } from '../../collections/rules/record-key.ts';
import { mappedInSteps, sortedInSteps } from '../../kernel/sorted-in-steps.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';

/** The key of a record and its collection. */
export interface CollectionPlace extends PartitionedKey {
  readonly collection: string;
}

/**
 * The first `most` results of all collections as one list: by descending score, then by collection, partition and id. In steps,
 * because there may be some ten thousand results with one score.
 */
export function* mergeCollections<Result extends CollectionPlace & { readonly score: number }>(
  lists: readonly (readonly Result[])[],
  most: number,
): Generator<void, readonly Result[]> {
  // Computing both keys in each comparison would take longer than the sort.
  const keyed = yield* mappedInSteps(lists.flat(), (result) => ({ result, key: orderKey(result) }));
  const sorted = yield* sortedInSteps(
    keyed,
    (a, b) =>
      b.result.score - a.result.score ||
      compareUtf8(a.result.collection, b.result.collection) ||
      compareUtf8(a.key, b.key),
  );
  return sorted.slice(0, most).map(({ result }) => result);
}
