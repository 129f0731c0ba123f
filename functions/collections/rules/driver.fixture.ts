import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { QueryDriver } from './driver.ts';
import type { ProjectedValues } from './projection.ts';

/** The parts of a stored record that a driver reads. */
interface IndexedRecord {
  readonly partitionKey: string;
  readonly indexes: ProjectedValues;
}

/** Whether `driver` finds the record: the rule that each provider implements by its own means. */
export function isCandidate({ partitionKey, indexes }: IndexedRecord, driver: QueryDriver): boolean {
  switch (driver.by) {
    case 'listing':
      return true;
    case 'partitions':
      return driver.partitionKeys.includes(partitionKey);
    default:
      return holdsValue(Object.hasOwn(indexes, driver.index) ? indexes[driver.index] : undefined, driver);
  }
}

function holdsValue(
  value: string | undefined,
  driver: Exclude<QueryDriver, { readonly by: 'listing' | 'partitions' }>,
): boolean {
  if (value === undefined) return false;
  if (driver.by === 'equal') return value === driver.value;
  if (driver.by === 'in') return driver.values.includes(value);
  return compareUtf8(value, driver.from) >= 0 && compareUtf8(value, driver.to) <= 0;
}
