import type { CanonicalFenceMutation } from '../../../../contracts/generated/models.ts';
import { identifier } from '../../../kernel/identifiers.ts';

export interface FenceMutation {
  readonly operation: 'claim' | 'release';
  readonly name: string;
  readonly value: string;
  readonly ownerDocumentType: string;
  readonly ownerDocumentId: string;
}

export function readFenceMutation(fence: CanonicalFenceMutation, pointer: string): FenceMutation {
  return {
    operation: fence.operation ?? 'claim',
    name: identifier(fence.name, `${pointer}/name`),
    value: identifier(fence.value, `${pointer}/value`),
    ownerDocumentType: identifier(fence.ownerDocumentType, `${pointer}/ownerDocumentType`),
    ownerDocumentId: identifier(fence.ownerDocumentId, `${pointer}/ownerDocumentId`),
  };
}
