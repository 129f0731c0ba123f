import { compareRecordKeys, type RecordKey } from '../../collections/rules/record-key.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';

/** Which record of which collection. */
export interface Place extends RecordKey {
  readonly collection: string;
}

/** The results of all collections as one list: by the score downwards, then by collection, partition and id; the first `most`. */
export function mergeCollections<Result extends Place & { readonly score: number }>(
  lists: readonly (readonly Result[])[],
  most: number,
): readonly Result[] {
  return lists
    .flat()
    .sort((a, b) => b.score - a.score || comparePlaces(a, b))
    .slice(0, most);
}

function comparePlaces(a: Place, b: Place): number {
  return compareUtf8(a.collection, b.collection) || compareRecordKeys(a, b);
}
