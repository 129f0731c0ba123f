import { limits } from '../../../../contracts/generated/limits.ts';
import type {
  CanonicalDocumentInput,
  CanonicalMutation,
  CanonicalWritePrecondition,
} from '../../../../contracts/generated/models.ts';
import type { JsonObject } from '../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import { identifier } from '../../../kernel/identifiers.ts';
import { boundedInSteps } from '../bounded-text.ts';
import { indexValues } from '../document/index-text.ts';

export interface Precondition {
  readonly expectedRevision: number | null;
  readonly mustExist: boolean;
  readonly mustNotExist: boolean;
}

/** @testonly */
export interface Upsert {
  readonly operation: 'upsert';
  readonly documentType: string;
  readonly id: string;
  readonly schemaVersion: string;
  readonly data: JsonObject;
  /** `data` as canonical JSON. */
  readonly dataText: string;
  readonly indexes: Readonly<Record<string, string>>;
  readonly precondition: Precondition;
}

/** @testonly */
export interface Delete {
  readonly operation: 'delete';
  readonly documentType: string;
  readonly id: string;
  readonly precondition: Precondition;
}

export type Mutation = Upsert | Delete;

/** Reads in steps, like the whole commit. */
export function* readMutation(
  tenantId: string,
  mutation: CanonicalMutation,
  pointer: string,
): Generator<void, Mutation> {
  const precondition = readPrecondition(mutation.precondition ?? {}, `${pointer}/precondition`);
  const document = mutation.document ?? null;
  if ((mutation.operation ?? 'upsert') === 'upsert') {
    if (document === null) throw invalidMember(`${pointer}/document`, 'is needed for an upsert');
    const upsert = yield* readDocument(tenantId, document, `${pointer}/document`);
    sameName(mutation.documentType, upsert.documentType, `${pointer}/documentType`);
    sameName(mutation.id, upsert.id, `${pointer}/id`);
    return { operation: 'upsert', ...upsert, precondition };
  }
  if (document !== null) {
    throw invalidMember(
      `${pointer}/document`,
      'must be left out of a delete, which needs documentType and id',
    );
  }
  return {
    operation: 'delete',
    documentType: identifier(mutation.documentType ?? '', `${pointer}/documentType`),
    id: identifier(mutation.id ?? '', `${pointer}/id`),
    precondition,
  };
}

/** Names beside the document of an upsert are optional, and must equal those in the document. */
function sameName(given: string | null | undefined, name: string, pointer: string): void {
  if (given !== undefined && given !== null && given.trim() !== name) {
    throw invalidMember(pointer, 'contradicts the document of this mutation');
  }
}

function* readDocument(tenantId: string, document: CanonicalDocumentInput, pointer: string) {
  // Compare without trimming: a tenant in the document must be exact.
  if (document.tenantId !== tenantId) {
    throw invalidMember(`${pointer}/tenantId`, 'must be the tenant of the transaction', 'tenant_mismatch');
  }
  if (document.deleted === true) {
    throw invalidMember(`${pointer}/deleted`, 'an upsert cannot write a tombstone; use operation delete');
  }
  return {
    documentType: identifier(document.documentType, `${pointer}/documentType`),
    id: identifier(document.id, `${pointer}/id`),
    schemaVersion: identifier(document.schemaVersion, `${pointer}/schemaVersion`),
    data: document.data,
    dataText: yield* boundedInSteps(document.data, limits.documentDataBytesMax, `${pointer}/data`),
    indexes: indexValues(document.indexes ?? {}, limits.indexesPerDocumentMax, `${pointer}/indexes`),
  };
}

function readPrecondition(precondition: CanonicalWritePrecondition, pointer: string): Precondition {
  const mustExist = precondition.mustExist ?? false;
  const mustNotExist = precondition.mustNotExist ?? false;
  if (mustExist && mustNotExist)
    throw invalidMember(pointer, 'mustExist and mustNotExist exclude each other');
  return { expectedRevision: precondition.expectedRevision ?? null, mustExist, mustNotExist };
}
