import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { cases, forAll, patienceMs } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import type { Vocabulary } from './arbitrary.ts';
import { type Target } from './attacked.ts';
import { recordGroups } from './matrix-records.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { pathOf, requestOf, validDrafts } from './requests.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, exampleRequest, freshTenant, furnish, routesOf } from './target.ts';
import { answersFor } from './verbatim.ts';
import { WriteWatch } from './writes.ts';

vi.setConfig({ testTimeout: patienceMs });

/** Calls of all tenants. A nightly run makes five times as many. */
const DRAWS = 800;

interface Tenant {
  readonly id: string;
  /** Stands in the content of everything that is this tenant's. */
  readonly mark: string;
  readonly words: Vocabulary;
}

let service: RunningService;
let target: Target;
let tenants: readonly Tenant[];
let words: Vocabulary;
beforeAll(async () => {
  service = await startService({ world: hurried });
  target = { set: contractModels(), entries: allEntries, call: service.call };
  tenants = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const [id, mark] = [freshTenant(), `mark-${randomUUID()}`];
      return { id, mark, words: await furnish(target, id, mark) };
    }),
  );
  const names = new Set(tenants.flatMap((each) => [...each.words.keys()]));
  words = new Map([...names].map((name) => [name, tenants.flatMap((each) => each.words.get(name) ?? [])]));
});
afterAll(() => service.close());

// Runs name their tenant in their scope, and a policy decides about them: run-scopes.test.ts.
const ofTenants = routesOf(allEntries.filter(({ group }) => group !== 'execution'));
const routes = new Map(ofTenants.map((each) => [each.name, each]));

test('every operation is attacked here, or among those of runs', () => {
  const ofRuns = allEntries.filter(({ group }) => group === 'execution');
  expect(ofTenants.length + routesOf(ofRuns).length).toBe(routesOf(allEntries).length);
  expect(
    ofRuns.flatMap(({ routes: each }) => each.flatMap(({ path }) => path)).map(({ name }) => name),
  ).not.toContain('tenantId');
});

/** Rejects an answer in which anything belongs to another tenant than `own`. */
function checkOwn(own: Tenant, answer: { readonly status: number; readonly body: string }): void {
  for (const other of tenants) {
    if (other === own) continue;
    const place = answer.body.indexOf(other.mark);
    if (place >= 0)
      throw new Error(
        `content of another tenant: ${answer.body.slice(Math.max(0, place - 200), place + 50)}`,
      );
    if (
      answer.status < 400 &&
      tenantsIn(JSON.parse(answer.body === '' ? 'null' : answer.body)).includes(other.id)
    ) {
      throw new Error(`another tenant's name: ${answer.body.slice(0, 400)}`);
    }
  }
}

function tenantsIn(value: Json): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'tenantId' && typeof member === 'string' ? [member] : tenantsIn(member),
  );
}

test('D12: no answer holds anything of another tenant, even where a request gives its names and tokens', async () => {
  const drafts = await Promise.all(
    [...routes].flatMap(([name, { entry, route }]) =>
      tenants.map(async ({ id }, at) => {
        const answers = await answersFor(target, entry, id, 0);
        const place = { set: target.set, entry, route, fixed: { tenantId: id }, vocabulary: words, answers };
        return validDrafts(place).map((draft) => ({ name, at, draft }));
      }),
    ),
  );
  let marked = 0;
  await forAll('tenants', DRAWS, fc.oneof(...drafts), async ({ name, at, draft }) => {
    const own = tenants[at];
    const each = routes.get(name);
    if (own === undefined || each === undefined) throw new Error('there is no such case');
    const answer = await target.call(requestOf(each, draft));
    judge(target.set, each.entry, answer);
    checkOwn(own, answer);
    if (answer.body.includes(own.mark)) marked += 1;
  });
  // Empty answers would prove nothing. About one in seventy holds content of its tenant; which are drawn changes with the catalog.
  expect(marked).toBeGreaterThan(cases(DRAWS) / 200);
});

describe('D04: the tokens and ids of one tenant are useless in another', () => {
  // Collections and records have spaces in the place of tenants, and so have jobs of providers, which are themselves those of the
  // service: spaces.test.ts, provider-runs.test.ts.
  const withNames = ofTenants.filter(
    ({ entry, route }) =>
      !recordGroups.has(entry.group) &&
      entry.group !== 'providers' &&
      route.path.some(({ name }) => name !== 'tenantId'),
  );

  test.each(withNames)('$name', async ({ entry, route }) => {
    const [first, second] = [freshTenant(), freshTenant()];
    const given = await furnish(target, first);
    await service.call(exampleRequest(target, entry, second) ?? { method: 'GET', path: '/' });
    const word = (name: string) => given.get(name)?.[0] ?? 'none';
    const params = Object.fromEntries(
      route.path.map(({ name }) => [name, name === 'tenantId' ? second : word(name)]),
    );
    const members =
      entry.requestSchema === null ? {} : (target.set.model(entry.requestSchema).properties ?? {});
    const takesBody = entry.requestSchema !== null && !route.bodyFromParameters;
    const body = !takesBody
      ? undefined
      : Object.fromEntries(
          Object.keys(members).flatMap((name) =>
            given.has(name) && name !== 'tenantId' ? [[name, word(name)]] : [],
          ),
        );
    const watch = new WriteWatch(service);
    const { version } = watch;
    const answer = await service.call({ method: route.method, path: pathOf(route, params), body });
    const verdict = judge(target.set, entry, answer);
    // An empty list is as good as not found.
    const empty =
      answer.status === 200 && ['[]', '{"items":[],"continuationToken":null}'].includes(answer.body);
    if (!empty && (verdict.accepted || !['not_found', 'lease_stale'].includes(verdict.code))) {
      throw new BrokenPromise('not refused as unknown', answer);
    }
    expect(watch.version).toBe(version);
    watch.close();
  });

  test('a continuation token', async () => {
    const [first, second] = [freshTenant(), freshTenant()];
    const outbox = [1, 2, 3].map((n) => ({ topic: 't', key: `${n}` }));
    const post = (tenantId: string, rest: string, body: object) =>
      service.call({ method: 'POST', path: `/canonical/tenants/${tenantId}/${rest}`, body });
    for (const tenant of [first, second]) await post(tenant, 'transactions', { idempotencyKey: 'k', outbox });
    const page = await post(first, 'outbox/query', { limit: 1 });
    const { continuationToken } = page.json<{ continuationToken: string }>();
    expect((await post(first, 'outbox/query', { limit: 1, continuationToken })).status).toBe(200);
    const foreign = await post(second, 'outbox/query', { limit: 1, continuationToken });
    expect(foreign.json()).toMatchObject({ status: 400, code: 'continuation_token_invalid' });
  });
});

describe('the oracle finds', () => {
  test('content and names of another tenant', () => {
    const [own, other] = tenants as [Tenant, Tenant];
    expect(() =>
      checkOwn(own, { status: 200, body: JSON.stringify({ data: { salt: other.mark } }) }),
    ).toThrow('content');
    expect(() => checkOwn(own, { status: 404, body: `{"detail":"${other.mark}"}` })).toThrow('content');
    expect(() => checkOwn(own, { status: 200, body: JSON.stringify([{ tenantId: other.id }]) })).toThrow(
      'name',
    );
    expect(() =>
      checkOwn(own, { status: 200, body: JSON.stringify({ tenantId: own.id, data: own.mark }) }),
    ).not.toThrow();
    expect(() => checkOwn(own, { status: 204, body: '' })).not.toThrow();
  });
});
