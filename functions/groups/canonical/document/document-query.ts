import { limits } from '../../../../contracts/generated/limits.ts';
import type {
  CanonicalDocumentIndexRange,
  CanonicalDocumentQuery,
  CanonicalDocumentQueryResult,
} from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { cutHeaders } from '../../../http/list-headers.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import { optionalIdentifier } from '../../../kernel/identifiers.ts';
import { JsonText } from '../../../kernel/json-value-text.ts';
import type { ListSelection } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { gather } from '../record-pages.ts';
import { DOCUMENTS, tenantScope } from '../records.ts';
import { documentJson } from './document.ts';
import { indexName, indexValue, indexValues } from './index-text.ts';

/**
 * Lists documents by type, by equality on projected indexes and by one range. The order is that of an index, else type and id. Values
 * compare as UTF-8 bytes on every provider. A token belongs to its query: only `limit` may change between pages.
 */
export function queryCanonicalDocuments(
  dependencies: CanonicalDependencies,
): Handler<'queryCanonicalDocuments'> {
  return async ({ params: { tenantId }, body }, { hold }) => {
    const question = readQuestion(body);
    const query = { operation: 'queryCanonicalDocuments', tenantId, ...question };
    const from = await dependencies.pageTokens.readPosition(query, body.continuationToken);
    const store = await dependencies.store();
    const limit = body.limit ?? limits.queryLimitDefault;
    const selection = selectionOf(question, limit);
    const page = await gather(store, tenantScope(tenantId), selection, from, (record) => {
      hold?.(record.body?.length ?? 0);
      return documentJson(tenantId, record);
    });
    const { after = null, generation = null } = page.next ?? {};
    const continuationToken = await dependencies.pageTokens.issue(query, after, generation);
    const headers = cutHeaders(continuationToken !== null && page.items.length < limit);
    const text = `{"items":[${page.items.join()}],"continuationToken":${JSON.stringify(continuationToken)}}`;
    const shown: unknown = new JsonText(text);
    return { status: 200, body: shown as CanonicalDocumentQueryResult, headers };
  };
}

/** The members that must be equal in all pages of a query. */
interface Question {
  readonly documentType: string | null;
  readonly indexes: Readonly<Record<string, string>>;
  readonly range: { readonly name: string; readonly from: string | null; readonly to: string | null } | null;
  readonly orderBy: string | null;
  readonly direction: 'ascending' | 'descending';
  readonly includeDeleted: boolean;
}

function readQuestion(body: CanonicalDocumentQuery): Question {
  const orderBy = body.orderByIndex ?? null;
  return {
    documentType: optionalIdentifier(body.documentType, '/documentType'),
    indexes: indexValues(body.indexes ?? {}, limits.queryEqualitiesMax, '/indexes'),
    range: readRange(body.indexRange ?? null),
    orderBy: orderBy === null ? null : indexName(orderBy, '/orderByIndex'),
    // A direction applies to an index; type and id are always ascending.
    direction: orderBy === null ? 'ascending' : (body.orderDirection ?? 'ascending'),
    includeDeleted: body.includeDeleted ?? false,
  };
}

function readRange(range: CanonicalDocumentIndexRange | null): Question['range'] {
  if (range === null) return null;
  const name = indexName(range.name, '/indexRange/name');
  const from = range.greaterThanOrEqual ?? null;
  const to = range.lessThanOrEqual ?? null;
  if (from === null && to === null) throw invalidMember('/indexRange', 'a range has at least one bound');
  return {
    name,
    from: from === null ? null : indexValue(from, '/indexRange/greaterThanOrEqual'),
    to: to === null ? null : indexValue(to, '/indexRange/lessThanOrEqual'),
  };
}

function selectionOf(question: Question, limit: number): Omit<ListSelection, 'after'> {
  const { documentType, indexes, range, orderBy, direction, includeDeleted } = question;
  return {
    by: 'list',
    collection: DOCUMENTS,
    ...(documentType === null ? {} : { group: documentType }),
    equal: indexes,
    ...(range === null ? {} : { range: { index: range.name, ...bounds(range.from, range.to) } }),
    ...(orderBy === null ? {} : { orderBy }),
    direction,
    includeHidden: includeDeleted,
    limit,
  };
}

function bounds(from: string | null, to: string | null) {
  return { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
}
