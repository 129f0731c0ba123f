import { limits } from '../../../../contracts/generated/limits.ts';
import type { Handler } from '../../../http/handler.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { identifier } from '../../../kernel/identifiers.ts';
import { walkPages } from '../../../store/pages.ts';
import type { Moment, Part } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { COMMITS, documentKey, tenantScope } from '../records.ts';
import { documentState, readDocument } from './document.ts';
import { readRevision } from './revision.ts';

/** Reads one document. Tombstones are shown only when asked for; an unknown one is `not_found`. */
export function readCanonicalDocument(dependencies: CanonicalDependencies): Handler<'readCanonicalDocument'> {
  return async ({ params, body }) => {
    const name = readName(body);
    const key = documentKey(name.documentType, name.id);
    const store = await dependencies.store();
    const page = await store.query(tenantScope(params.tenantId), {
      by: 'keys',
      keys: [{ key, view: 'body' }],
    });
    const record = page.records[0];
    const state = documentState(record, name);
    if (record === undefined || state === undefined || (state.deleted && body.includeDeleted !== true)) {
      throw new ServiceError('not_found', 'There is no such document in this tenant');
    }
    return { status: 200, body: readDocument(params.tenantId, record) };
  };
}

/** The revisions of one document, newest first, deletes included; an empty list for an unknown document. */
export function queryCanonicalDocumentRevisions(
  dependencies: CanonicalDependencies,
): Handler<'queryCanonicalDocumentRevisions'> {
  return async ({ params, body }) => {
    const name = readName(body);
    const { id: of } = documentKey(name.documentType, name.id);
    const store = await dependencies.store();
    const limit = body.limit ?? limits.queryLimitDefault;
    const parts = await store.snapshot(tenantScope(params.tenantId), (moment) =>
      newestParts(moment, of, limit),
    );
    return { status: 200, body: parts.map((part) => readRevision(part.body)) };
  };
}

/** The answer has no continuation, so a provider's short pages are followed until the answer is complete. */
async function newestParts(moment: Moment, of: string, limit: number): Promise<Part[]> {
  const parts: Part[] = [];
  const pages = walkPages((after) =>
    moment.query({
      by: 'parts',
      collection: COMMITS,
      of,
      direction: 'descending',
      limit: limit - parts.length,
      ...after,
    }),
  );
  for await (const page of pages) {
    parts.push(...page.parts);
    if (parts.length >= limit) break;
  }
  return parts;
}

function readName(body: { readonly documentType: string; readonly id: string }) {
  return { documentType: identifier(body.documentType, '/documentType'), id: identifier(body.id, '/id') };
}
