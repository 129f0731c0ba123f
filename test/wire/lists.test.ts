import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Every list that can be longer than its page has a link to the next page. */

interface Model {
  readonly type?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Model & { readonly type?: string | readonly string[] }>>;
}

const openApi = JSON.parse(readFileSync('contracts/generated/openapi/svc.json', 'utf8')) as {
  readonly components: { readonly schemas: Readonly<Record<string, Model>> };
};
const modelOf = (name: string | null | undefined): Model => openApi.components.schemas[name ?? ''] ?? {};
const membersOf = (model: Model) => Object.entries(model.properties ?? {});
const entries: readonly OperationEntry[] = Object.values(operations);

/** A read whose answer is a list, or holds one and takes a limit. */
function isList(entry: OperationEntry): boolean {
  if (entry.mutation !== 'read' || entry.stability === 'internal') return false;
  const model = modelOf(entry.responses[0]?.schema);
  if (model.type === 'array') return true;
  const holdsList = membersOf(model).some(([, { type }]) => [type].flat().includes('array'));
  const asked = [
    ...entry.routes.flatMap(({ query }) => query.map(({ name }) => name)),
    ...membersOf(modelOf(entry.requestSchema)).map(([name]) => name),
  ];
  return holdsList && asked.some((name) => /^(limit|maxRecords|continuationToken|anomalyLimit)$/.test(name));
}

/** By a token or a member of the answer, or by a header field. */
function saysSo({ responses: [answer] }: OperationEntry): boolean {
  const members = membersOf(modelOf(answer?.schema)).map(([name]) => name);
  const byMember = members.some((name) =>
    /^(continuationToken|truncated|graphTruncated|anomalyCount)$/.test(name),
  );
  return byMember || (answer?.headers ?? []).some((name) => name === 'Link' || name === 'Svc-Truncated');
}

/** Lists that are never longer than their answer. */
const whole: Readonly<Record<string, string>> = {
  listExecutionRunArtifacts: 'a run has at most executionArtifactsPerRunMax artifacts',
  listEmbeddingProviders: 'the settings name them',
  listEmbeddingProviderGuidance: 'the settings name them',
  listProviders: 'the settings name them',
  listProviderDoctor: 'the settings name them',
  listProviderQuotas: 'the settings name them',
  listProviderQualifications: 'one for each capability',
  listRetrievalProfiles: 'the service has them',
  listGraphProviderShapes: 'the service has them',
  retrieve: 'the caller asks for so many of the best, not for a page of all',
};

describe('the contract', () => {
  const lists = entries.filter(isList);

  test('finds them', () => {
    expect(lists.length).toBeGreaterThan(25);
    expect(
      lists
        .filter((entry) => !saysSo(entry))
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(Object.keys(whole).toSorted());
  });
});

describe('the revisions of a document', () => {
  let service: RunningService;
  const count = 1_003;
  beforeAll(async () => {
    service = await startService();
    for (let n = 0; n < count; n += 1) {
      const document = { tenantId: 'acme', documentType: 'note', id: 'a', schemaVersion: '1', data: { n } };
      const mutations = [{ operation: 'upsert', document }];
      const body = { tenantId: 'acme', idempotencyKey: `k-${n}`, mutations };
      const path = '/canonical/tenants/acme/transactions';
      expect((await service.call({ method: 'POST', path, body })).status).toBe(200);
    }
  });
  afterAll(() => service.close());

  const GET = '/canonical/tenants/acme/documents/note/a/revisions';
  const POST = '/canonical/tenants/acme/documents/revisions';

  test.each(['', '?limit=1000', '?limit=334'])(
    'are all within reach by the addresses of Link: GET %s',
    async (first) => {
      const seen: number[] = [];
      for (let path: string | undefined = `${GET}${first}`; path !== undefined; ) {
        const answer = await service.call({ method: 'GET', path });
        seen.push(...answer.json<{ revision: number }[]>().map(({ revision }) => revision));
        path = /^<(.*)>; rel="next"$/.exec(answer.headers['link'] ?? '')?.[1];
      }
      expect(seen).toEqual(Array.from({ length: count }, (_, n) => count - n));
    },
  );

  test('are so by POST too, with the query of Link and the first body', async () => {
    const body = { documentType: 'note', id: 'a', limit: 1000 };
    const first = await service.call({ method: 'POST', path: POST, body });
    const query = /\?(.*)>/.exec(first.headers['link'] ?? '')?.[1];
    const second = await service.call({ method: 'POST', path: `${POST}?${query}`, body });
    expect(second.json<{ revision: number }[]>().map(({ revision }) => revision)).toEqual([3, 2, 1]);
    expect(second.headers['link']).toBeUndefined();
    const same = await service.call({ method: 'POST', path: POST, body: { ...body, beforeRevision: 4 } });
    expect(same.body).toBe(second.body);
  });

  test.each(['0', '-1', '1.5', 'x', '9007199254740992'])('are not before %s', async (beforeRevision) => {
    const refused = await service.call({ method: 'GET', path: `${GET}?beforeRevision=${beforeRevision}` });
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('/beforeRevision')]);
  });
});
