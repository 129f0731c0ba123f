import type { CanonicalFence } from '../../../../contracts/generated/models.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { type RecordData, StoreError, type Write } from '../../../store/port.ts';
import { fenceKey } from '../records.ts';
import type { FenceMutation } from './fence-request.ts';

/** A name and a value: together they are claimed once. */
type FenceName = Pick<FenceMutation, 'name' | 'value'>;

/**
 * What claiming or releasing a fence writes; `null` where its owner claims it again, which changes nothing.
 *
 * A fence belongs to one document, whether or not that document exists, until its owner releases it. Throws
 * `fence_conflict` for a claim of another's fence, `fence_not_owned` for the release of one that is not the owner's.
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
      throw new ServiceError(
        'fence_not_owned',
        'The fence is not held by the document that would release it',
        {
          errors: [{ pointer, detail: 'is not held by this owner' }],
        },
      );
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

/** The fence as the wire shows it. Throws `not_found` where no document holds it. */
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

// Record ids are hashes: a record of another fence would mean that two share one, which must never pass unseen.
function checkHeld(record: RecordData | undefined, { name, value }: FenceName): void {
  if (record !== undefined && (record.head.name !== name || record.head.value !== value)) {
    throw new StoreError('corrupt', 'a fence record does not hold the fence that its id names');
  }
}
