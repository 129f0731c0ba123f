import type { CanonicalFence } from '../../../../contracts/generated/models.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { type RecordData, StoreError, type Write } from '../../../store/port.ts';
import { fenceKey } from '../records.ts';
import type { FenceMutation } from './fence-request.ts';

/** A name and a value. Only one document can claim the pair. */
type FenceName = Pick<FenceMutation, 'name' | 'value'>;

/**
 * The write for a claim or release of a fence; `null` if the owner claims it again, which changes nothing.
 *
 * A fence belongs to one document, whether or not that document exists, until this owner releases it. Throws `fence_conflict` if
 * another document claims it, and `fence_not_owned` if another document releases it.
 */
export function applyFence(
  record: RecordData | undefined,
  fence: FenceMutation,
  pointer: string,
  nowUtc: string,
): Write | null {
  const key = fenceKey(fence.name, fence.value);
  checkHeld(record, fence);
  const owned =
    record?.head.ownerDocumentType === fence.ownerDocumentType &&
    record?.head.ownerDocumentId === fence.ownerDocumentId;
  if (fence.operation === 'release') {
    if (!owned) {
      throw new ServiceError('fence_not_owned', 'The document does not hold the fence that it releases', {
        errors: [{ pointer, detail: 'is not held by this owner' }],
      });
    }
    return { remove: key };
  }
  if (record === undefined) {
    const { name, value, ownerDocumentType, ownerDocumentId } = fence;
    const head = {
      name,
      value,
      ownerDocumentType,
      ownerDocumentId,
      createdAtUtc: nowUtc,
      updatedAtUtc: nowUtc,
    };
    return { put: { key, head, body: null, listing: null } };
  }
  if (!owned) {
    throw new ServiceError('fence_conflict', 'The fence is held by another document', {
      errors: [{ pointer, detail: 'is held by another owner' }],
    });
  }
  return null;
}

/** The fence in its wire form. Throws `not_found` if no document holds it. */
export function readFence(
  tenantId: string,
  record: RecordData | undefined,
  fence: FenceName,
): CanonicalFence {
  checkHeld(record, fence);
  if (record === undefined)
    throw new ServiceError('not_found', 'No document of this tenant holds this fence');
  const { name, value } = fence;
  const { head } = record;
  return {
    tenantId,
    name,
    value,
    ownerDocumentType: String(head.ownerDocumentType),
    ownerDocumentId: String(head.ownerDocumentId),
    createdAtUtc: String(head.createdAtUtc),
    updatedAtUtc: String(head.updatedAtUtc),
  };
}

// Record ids are hashes. A record of another fence would be a collision of two hashes, which must cause an error.
function checkHeld(record: RecordData | undefined, { name, value }: FenceName): void {
  if (record !== undefined && (record.head.name !== name || record.head.value !== value)) {
    throw new StoreError('corrupt', 'a fence record does not hold the fence that its id names');
  }
}
