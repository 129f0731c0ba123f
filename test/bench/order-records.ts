import type { RecordData } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';

const AT = '2026-01-01T00:00:00.000Z';

/** The record of the n-th document of the type `order`, with these projected indexes. */
export function orderRecord(
  collection: string,
  n: number,
  indexes: Readonly<Record<string, string>>,
): RecordData {
  const id = `doc-${String(n).padStart(8, '0')}`;
  return {
    key: { collection, id: recordId('documents', 'order', id) },
    head: {
      documentType: 'order',
      id,
      schemaVersion: '1',
      revision: 1,
      deleted: false,
      createdAtUtc: AT,
      updatedAtUtc: AT,
    },
    body: JSON.stringify({ n, text: 'x'.repeat(200) }),
    listing: { group: 'order', id, hidden: false, indexes },
  };
}
