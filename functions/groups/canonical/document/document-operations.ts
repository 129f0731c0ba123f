import { limits } from '../../../../contracts/generated/limits.ts';
import type {
  CanonicalDocument,
  CanonicalDocumentReadRequest,
} from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { listHeaders } from '../../../http/list-headers.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { identifier } from '../../../kernel/identifiers.ts';
import { JsonText } from '../../../kernel/json-value-text.ts';
import { walkPages } from '../../../store/pages.ts';
import type { Moment, Part, RecordData } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { COMMITS, documentKey, tenantScope } from '../records.ts';
import { documentJson, documentState } from './document.ts';
import { readRevision, revisionOrder } from './revision.ts';

/** Reads one document. Shows a tombstone only on request. Throws `not_found` for an unknown document. */
export function readCanonicalDocument(dependencies: CanonicalDependencies): Handler<'readCanonicalDocument'> {
  return async ({ params: { tenantId }, body }) => {
    const record = await findRecord(dependencies, tenantId, body);
    const shown: unknown = new JsonText(documentJson(tenantId, record));
    return { status: 200, body: shown as CanonicalDocument };
  };
}

/** The record of a document that the caller may see. Throws `not_found`. */
export async function findRecord(
  dependencies: CanonicalDependencies,
  tenantId: string,
  asked: CanonicalDocumentReadRequest,
): Promise<RecordData> {
  const name = readName(asked);
  const key = documentKey(name.documentType, name.id);
  const store = await dependencies.store();
  const page = await store.query(tenantScope(tenantId), { by: 'keys', keys: [{ key, view: 'body' }] });
  const record = page.records[0];
  const state = documentState(record, name);
  if (record === undefined || state === undefined || (state.deleted && asked.includeDeleted !== true)) {
    throw new ServiceError('not_found', 'There is no such document in this tenant');
  }
  return record;
}

/** Lists the revisions of one document in pages, newest first, with deletes. The list of an unknown document is empty. */
export function queryCanonicalDocumentRevisions(
  dependencies: CanonicalDependencies,
): Handler<'queryCanonicalDocumentRevisions'> {
  return async ({ params: { tenantId }, query, body }) => {
    const { documentType, id } = readName(body);
    const store = await dependencies.store();
    const limit = query.limit ?? body.limit ?? limits.queryLimitDefault;
    const before = query.beforeRevision ?? body.beforeRevision ?? null;
    const { id: of } = documentKey(documentType, id);
    const page = await store.snapshot(tenantScope(tenantId), (moment) =>
      newestParts(moment, { of, limit, before }),
    );
    const revisions = page.parts.map((part) => readRevision(part.body));
    const last = revisions.at(-1);
    const next = page.isCut && last !== undefined ? { limit, beforeRevision: last.revision } : null;
    const place = [tenantId, 'documents', documentType, id, 'revisions'].map(encodeURIComponent).join('/');
    const headers = listHeaders(`/canonical/tenants/${place}`, {}, { next, cut: false });
    return { status: 200, body: revisions, headers };
  };
}

interface PartsWanted {
  readonly of: string;
  readonly limit: number;
  /** Only revisions before this one; `null` begins with the newest. */
  readonly before: number | null;
}

/** Reads further pages of the provider until the page of the answer is complete. */
async function newestParts(moment: Moment, { of, limit, before }: PartsWanted) {
  const parts: Part[] = [];
  const pages = walkPages(
    (after) =>
      moment.query({
        by: 'parts',
        collection: COMMITS,
        of,
        direction: 'descending',
        limit: limit - parts.length,
        ...after,
      }),
    { from: before === null ? null : revisionOrder(before) },
  );
  for await (const page of pages) {
    parts.push(...page.parts);
    if (parts.length >= limit) return { parts, isCut: page.next !== null };
  }
  return { parts, isCut: false };
}

function readName(body: { readonly documentType: string; readonly id: string }) {
  return { documentType: identifier(body.documentType, '/documentType'), id: identifier(body.id, '/id') };
}
