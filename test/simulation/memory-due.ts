import type { Stored } from './memory-database.ts';
import { compareUtf8 } from './memory-list.ts';

/** The order in which records are offered to claims. */
export function byDue(left: Stored, right: Stored): number {
  const order = (left.record.due ?? 0) - (right.record.due ?? 0);
  return (
    order ||
    compareUtf8(left.record.listing?.id ?? '', right.record.listing?.id ?? '') ||
    compareUtf8(left.record.key.id, right.record.key.id)
  );
}

export function duePlace({ record }: Stored): string {
  return JSON.stringify([record.due, record.listing?.id ?? '', record.key.id]);
}

/** The records after the place, also when its own record is no longer due. */
export function dueAfter(records: readonly Stored[], place: string): readonly Stored[] {
  const [due, listingId, id] = JSON.parse(place) as [number, string, string];
  return records.filter(({ record }) => {
    const order =
      (record.due ?? 0) - due ||
      compareUtf8(record.listing?.id ?? '', listingId) ||
      compareUtf8(record.key.id, id);
    return order > 0;
  });
}
