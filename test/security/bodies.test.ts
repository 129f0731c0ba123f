import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { forAll, isNightly, patienceMs, share } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { type Answers, noAnswers } from './arbitrary.ts';
import { type Target } from './attacked.ts';
import { damage, damaged } from './mutations.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { RecordSpace } from './record-space.ts';
import { type Place, pathOf, requestOf, validDrafts } from './requests.ts';
import { contractModels, type SchemaSet } from './schema-set.ts';
import {
  allEntries,
  exampleRequest,
  freshTenant,
  furnish,
  furnishedTenant,
  placeFor,
  routesOf,
} from './target.ts';
import { WriteWatch } from './writes.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

const withBody = routesOf(allEntries).filter(
  ({ entry, route }) => entry.requestMediaType === 'application/json' && !route.bodyFromParameters,
);
const before = Object.getOwnPropertyNames(Object.prototype);

let service: RunningService;
let set: SchemaSet;
let target: Target;
let watch: WriteWatch;
/** A tenant and what it has, for each operation that writes, and for the reads of a group together. */
const furnished = new Map<string, Place>();
beforeAll(async () => {
  service = await startService({ world: hurried });
  set = contractModels();
  target = { set, entries: allEntries, call: service.call };
  // Makes the file, and the secret of page tokens, which the first of them makes whether it is good or not.
  const tenantId = freshTenant();
  await furnish(target, tenantId);
  const path = `/canonical/tenants/${tenantId}/outbox/query`;
  await service.call({ method: 'POST', path, body: { continuationToken: 'a.b' } });
  watch = new WriteWatch(service);
  const ofReads = new Map<string, Place>();
  const anyTenant = await furnishedTenant(target);
  // One after the other: an instance makes few copies of tenants at once, and refuses more.
  for (const { name, entry, route } of withBody) {
    // Only these change what a tenant has; the others write to a collection of their own, or answer alone.
    const tenant = ['canonical', 'execution'].includes(entry.group) ? undefined : anyTenant;
    const shared = entry.mutation === 'read' ? ofReads.get(entry.group) : undefined;
    const place =
      shared === undefined ? await placeFor(target, entry, route, tenant) : { ...shared, entry, route };
    if (entry.mutation === 'read') ofReads.set(entry.group, place);
    furnished.set(name, place);
  }
});
afterAll(async () => {
  watch.close();
  await service.close();
});

/** Judges an answer; one that refused must have written nothing. */
async function judged(entry: OperationEntry, call: () => Promise<InjectedResponse>) {
  await watch.settled();
  const { version } = watch;
  const answer = await call();
  const verdict = judge(set, entry, answer);
  if (!verdict.accepted && watch.version !== version && !(await isKeptRejection(answer)))
    throw new BrokenPromise(`${entry.id}: refused, and wrote`, answer);
  // No handler of this service executes a run that a caller starts; each job has one.
  if (answer.status === 202 && entry.group !== 'execution') await ended(answer);
  return verdict;
}

/** Waits for the end of a job: its writes are not those of the next request. */
async function ended(answer: InjectedResponse): Promise<void> {
  const { id, resourceId = '' } = answer.json<{ id?: string; resourceId?: string }>();
  await new RecordSpace(service.call).settled(id ?? resourceId);
  await watch.rested();
}

/** A run without its handler is refused and kept as rejected. No other refusal keeps a record. */
async function isKeptRejection(answer: InjectedResponse): Promise<boolean> {
  const { admission } = answer.json<{ admission?: { status: string; statusUri: string } }>();
  if (admission?.status !== 'rejected') return false;
  const run = await service.call({ method: 'GET', path: admission.statusUri });
  return run.status === 200 && run.json<{ status: string }>().status === 'rejected';
}

test('G01-G12: damaged bodies are refused or done as the contract says, and a refusal leaves nothing behind', async () => {
  const drafts = [...furnished].map(([name, place]) => validDrafts(place).map((draft) => ({ name, draft })));
  const outcomes = new Set<string>();
  await forAll(
    'bodies',
    share(4_000, 20_000),
    fc.tuple(fc.oneof(...drafts), damage),
    async ([{ name, draft }, changes]) => {
      const place = furnished.get(name);
      if (place === undefined) throw new Error('no such place');
      const request = requestOf(place, { ...draft, body: damaged((draft.body ?? {}) as Json, changes) });
      const verdict = await judged(place.entry, () => service.call(request));
      outcomes.add(verdict.accepted ? 'accepted' : verdict.code);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    },
  );
  expect(service.lines).toEqual([]);
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  // Damage that never gets past the parser and the models would test nothing behind them.
  const behind = [
    'accepted',
    'tenant_mismatch',
    'idempotency_conflict',
    'lease_stale',
    'not_found',
    // Few of the thousands of bodies reach the rules.
    ...(isNightly ? ['duplicate_in_request', 'handler_missing', 'run_mismatch'] : []),
  ];
  expect([...outcomes]).toEqual(expect.arrayContaining(behind));
});

/** Operations under a tenant whose body does not name it: D02 and D03 have nothing to try there. A new one is a decision. */
const withoutTenantInBody: readonly string[] = [];

test('D02 and D03 range over the operations whose body repeats the tenant of the path', () => {
  const silent = withBody.filter(
    ({ entry, route }) =>
      route.path.some(({ name }) => name === 'tenantId') &&
      namedPlaces(entry.requestSchema ?? '', 'tenantId').length === 0,
  );
  expect(silent.map(({ name }) => name)).toEqual(withoutTenantInBody);
});

/** A graph has names of its own for these: they are content, and grant and address nothing. */
const ofGraphs: ReadonlySet<string> = new Set([
  'envelope/scope/collection',
  'envelope/scope/tenantId',
  'graphExpansion/tenantId',
  'context/graphExpansion/tenantId',
  'cases/request/graphExpansion/tenantId',
]);

const mediaTypes: readonly (readonly [type: string, taken: boolean])[] = [
  ['application/json', true],
  ['APPLICATION/JSON', true],
  ['application/json; charset=utf-8', true],
  ['application/json;charset="UTF-8"', true],
  ['application/json; charset=utf-16', false],
  ['application/json; charset=iso-8859-1', false],
  ['', false],
  ['text/plain', false],
  ['text/json', false],
  ['application/x-www-form-urlencoded', false],
  ['multipart/form-data; boundary=a', false],
  ['application/merge-patch+json', false],
  ['application/json, text/plain', false],
  ['application/jsonp', false],
  ['*/*', false],
];

describe.each(withBody)('$name', ({ name: operation, entry, route }) => {
  const example = () =>
    exampleRequest(target, entry, freshTenant()) as { path: string; method: string; body: string };

  test.each(mediaTypes)('F13: a body sent as %j: is it taken? %j', async (type, taken) => {
    const request = { ...example(), headers: { 'Content-Type': type } };
    const verdict = await judged(entry, () => service.call(request));
    expect(verdict.accepted ? 'accepted' : verdict.code === 'unsupported_media_type').not.toBe(taken);
  });

  test('F03: a body that is encoded is refused', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x-gzip', 'aws-chunked']) {
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': encoding };
      const verdict = await judged(entry, () => service.call({ ...example(), headers }));
      expect(verdict).toEqual({ accepted: false, code: 'unsupported_media_type' });
    }
  });

  test('D02: a body that names another tenant or event than the path is refused', async () => {
    const model = entry.requestSchema ?? '';
    const named = route.path
      .flatMap(({ name }) => outermost(namedPlaces(model, name)))
      .filter((place) => !ofGraphs.has(place));
    for (const place of named.map((path) => path.split('/'))) {
      const name = place.at(-1) ?? '';
      for (const other of ['other', '*', name.toUpperCase(), `${name}x`, '']) {
        const { body, ...request } = example();
        const foreign = changedAt(JSON.parse(body) as Json, place, other);
        const verdict = await judged(entry, () => service.call({ ...request, body: foreign }));
        // An import of another collection lacks `allowCollectionRename`, and no name of another provider is taken.
        const codes: Readonly<Record<string, string>> = {
          runId: 'run_mismatch',
          collection: 'validation_failed',
          provider: 'validation_failed',
        };
        const mismatch = codes[name] ?? 'tenant_mismatch';
        const code = set.fault(model, foreign) === null ? mismatch : 'validation_failed';
        expect(verdict, `${place.join('/')} ${other}`).toEqual({ accepted: false, code });
      }
    }
  });

  test('D03: a tenant anywhere in the body is the one of the path', async () => {
    const inModel = namedPlaces(entry.requestSchema ?? '', 'tenantId').filter(
      (place) => place.includes('/') && !ofGraphs.has(place),
    );
    if (!route.path.some(({ name }) => name === 'tenantId')) {
      // Only the body names the owner of the run; policies decide whether the caller may name it (D01, D12).
      expect(inModel).toEqual(entry.id === 'startExecutionRun' ? ['scope/tenantId'] : []);
      return;
    }
    const { fixed = {}, answers = noAnswers } = furnished.get(operation) ?? {};
    const second = freshTenant();
    const request = exampleRequest(target, entry, fixed['tenantId'] ?? '', {
      answers: longestFirst(answers),
    });
    const sample = JSON.parse(String(request?.body)) as Json;
    const places = tenantPlaces(sample).filter((place) => place.length > 1);
    for (const place of places) {
      const body = changedAt(sample, place, second);
      const path = request?.path ?? '';
      const verdict = await judged(entry, () => service.call({ method: route.method, path, body }));
      // The service compares a repeated part of the body as a whole, hence the other code.
      const repeated = place.includes('revisions');
      const code = repeated ? 'validation_failed' : 'tenant_mismatch';
      expect(verdict, place.join('/')).toEqual({ accepted: false, code });
    }
    // The sample shows every place inside the body where a tenant can stand; otherwise one would go untested.
    const shown = places.map((place) => place.filter((part) => !/^\d+$/.test(part)).join('/'));
    expect([...new Set(shown)].sort()).toEqual(inModel.sort());
  });

  test('an Idempotency-Key that is no key, or another than the body names, is refused', async () => {
    if (entry.idempotency.location?.in !== 'body') return;
    for (const key of ['a\u0000b', 'a\r\nb', '\u00fc', '"', '"a', 'a'.repeat(300), 'another', '"another"']) {
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
      const verdict = await judged(entry, () => service.call({ ...example(), headers }));
      expect(verdict.accepted, key).toBe(false);
    }
  });
});

/** The paths of all members called `tenantId` in a value. */
function tenantPlaces(value: Json, at: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'tenantId' ? [[...at, name]] : tenantPlaces(member, [...at, name]),
  );
}

/** The places of the members of a name in a model, without the numbers of items. */
function namedPlaces(
  model: string,
  wanted: string,
  at: readonly string[] = [],
  seen: readonly string[] = [],
): string[] {
  if (seen.includes(model)) return [];
  return Object.entries(set.model(model).properties ?? {}).flatMap(([name, member]) => {
    if (name === wanted) return [[...at, name].join('/')];
    const inner = /#\/\$defs\/(\w+)/.exec(JSON.stringify(member))?.[1];
    return inner === undefined ? [] : namedPlaces(inner, wanted, [...at, name], [...seen, model]);
  });
}

/** The least deep places: a fault there concerns the whole request. */
function outermost(places: readonly string[]): readonly string[] {
  const depth = (place: string) => place.split('/').length;
  const least = Math.min(...places.map(depth));
  return places.filter((place) => depth(place) === least);
}

/** The longest answers come first. */
function longestFirst(answers: Answers): Answers {
  const length = (answer: Json) => JSON.stringify(answer).length;
  return new Map(
    [...answers].map(([model, all]) => [model, all.toSorted((a, b) => length(b) - length(a))] as const),
  );
}

function changedAt(value: Json, [first = '', ...rest]: readonly string[], tenant: string): Json {
  const copy = structuredClone(value) as Record<string, Json>;
  copy[first] = rest.length === 0 ? tenant : changedAt(copy[first] ?? null, rest, tenant);
  return copy;
}

test('commits that are refused among others at the same time leave nothing behind', async () => {
  const tenantId = freshTenant();
  const commit = allEntries.find(({ id }) => id === 'commitCanonicalTransaction');
  const [route] = commit?.routes ?? [];
  if (commit === undefined || route === undefined) throw new Error('there is no commit');
  const path = pathOf(route, { tenantId });
  // One of them holds the fence; the others meet the conflict inside the transaction, after their document was decided.
  const send = (n: number) => {
    const document = { tenantId, documentType: 'd', id: `${n}`, schemaVersion: '1', data: { n } };
    const fence = {
      name: 'f',
      value: `${Math.floor(n / 4)}`,
      ownerDocumentType: 'd',
      ownerDocumentId: `${n}`,
    };
    const body = {
      idempotencyKey: `k${n}`,
      mutations: [{ document }],
      fences: [fence],
      outbox: [{ topic: 't', key: `${n}` }],
    };
    return service.call({ method: 'POST', path, body });
  };
  const answers = await Promise.all(Array.from({ length: 80 }, (_, n) => send(n)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(60);
  const base = `/canonical/tenants/${tenantId}`;
  for (const [n, { status }] of answers.entries()) {
    const read = await service.call({ method: 'GET', path: `${base}/documents/d/${n}` });
    expect(read.status).toBe(status === 200 ? 200 : 404);
  }
  const events = await service.call({ method: 'POST', path: `${base}/outbox/query`, body: { limit: 1000 } });
  expect(events.json<{ items: unknown[] }>().items).toHaveLength(20);
});
