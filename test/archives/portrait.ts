import type {
  CanonicalDocument,
  CanonicalDocumentQuery,
  CanonicalOutboxEvent,
} from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import type { TenantClient } from '../support/canonical.ts';

/** Small, so that there are many pages to put together. */
const PAGE = 15;

/**
 * The answers of the operations about a tenant: question → a name for the answer. Bodies are large; a difference is one
 * line.
 */
type Portrait = Readonly<Record<string, string>>;

export interface Likeness {
  readonly documents: readonly CanonicalDocument[];
  readonly events: readonly CanonicalOutboxEvent[];
  readonly portrait: Portrait;
}

/** Asks everything that can be asked without changing anything, but for the outbox by state. */
export async function portraitOf(client: TenantClient): Promise<Likeness> {
  const answers: Record<string, string> = {};
  const documents = await allDocuments(client, { includeDeleted: true });
  const record = (question: string, answer: unknown) => {
    answers[question] = sha256(canonicalJson(answer)).slice(7, 19);
  };
  record('all documents', documents);
  for (const query of queriesOver(documents)) {
    record(JSON.stringify(query), await allDocuments(client, query));
  }
  for (const { documentType, id } of documents) {
    record(`document ${documentType} ${id}`, await client.read(documentType, id, true));
    record(`revisions of ${documentType} ${id}`, await client.revisions(documentType, id, 1_000));
  }
  const events = await allEvents(client);
  record('all events', events);
  return { documents, events, portrait: answers };
}

function queriesOver(documents: readonly CanonicalDocument[]): Partial<CanonicalDocumentQuery>[] {
  const types = new Set(documents.map(({ documentType }) => documentType));
  const names = new Set(documents.flatMap(({ indexes }) => Object.keys(indexes)));
  const queries: Partial<CanonicalDocumentQuery>[] = [...types].map((documentType) => ({ documentType }));
  for (const orderByIndex of names) {
    queries.push({ orderByIndex }, { orderByIndex, orderDirection: 'descending' });
    const values = documents.flatMap(({ indexes }) => indexes[orderByIndex] ?? []).sort();
    const middle = values[values.length >> 1] ?? '';
    queries.push(
      { indexes: { [orderByIndex]: middle } },
      { indexRange: { name: orderByIndex, greaterThanOrEqual: middle } },
      { indexRange: { name: orderByIndex, lessThanOrEqual: middle }, documentType: 'claim', orderByIndex },
    );
    if (names.has('title'))
      queries.push({ indexes: { [orderByIndex]: middle }, orderByIndex: 'title', documentType: 'claim' });
  }
  return queries;
}

async function allDocuments(
  client: TenantClient,
  query: Partial<CanonicalDocumentQuery>,
): Promise<CanonicalDocument[]> {
  const items: CanonicalDocument[] = [];
  for (let continuationToken: string | null = null; ; ) {
    const page = await client.query({ ...query, limit: PAGE, continuationToken });
    items.push(...page.items);
    ({ continuationToken } = page);
    if (continuationToken === null) return items;
  }
}

export type State = 'ready' | 'leased' | 'scheduled' | 'delivered' | 'dead-letter';

export async function allEvents(client: TenantClient, state?: State): Promise<CanonicalOutboxEvent[]> {
  const items: CanonicalOutboxEvent[] = [];
  for (let continuationToken: string | null = null; ; ) {
    const asked = state === undefined ? {} : { state };
    const page = await client.queryOutbox({ ...asked, limit: PAGE, continuationToken });
    items.push(...page.items);
    ({ continuationToken } = page);
    if (continuationToken === null) return items;
  }
}
