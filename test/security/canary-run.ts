import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import { isNightly } from '../support/effort.ts';
import type { RunningService } from '../support/service.ts';
import type { Answers } from './arbitrary.ts';
import type { Canaries, SearchPlace } from './canary.ts';
import { askModel, CANARY_PROVIDER, type CanaryModel } from './canary-provider.ts';
import { type BrokenDraft, brokenDrafts, type Draft, pathOf, requestOf } from './requests.ts';
import { ARTIFACT, CHECKPOINT, furnishRuns } from './runs.ts';
import { salted } from './salt.ts';
import { contractModels } from './schema-set.ts';
import { allEntries } from './target.ts';
import { firstOf, givingBack, verbatimMembers } from './verbatim.ts';

/** A service that was given secrets, and how to call it. */
export interface CanarySubject {
  readonly service: RunningService;
  readonly canaries: Canaries;
  /** The headers of a caller who may do everything, with the runs of `canaryScope` as well. */
  readonly trusted: () => Promise<Readonly<Record<string, string>>>;
  /** The model that the service calls over the network; none where it can keep nothing. */
  readonly model: CanaryModel | null;
}

export const canaryScope = { productId: 'billing', tenantId: 'canary-tenant', workerId: 'canary-worker' };

export interface Spoken {
  readonly operation: string;
  readonly answer: InjectedResponse;
}

const set = contractModels();

/**
 * Calls every operation with a secret in the place of every text that it is free to choose, rightly and in every wrong way,
 * with credentials that are accepted and with ones that are not. Gives all that was answered.
 */
export async function exercise({ service, canaries, trusted, model }: CanarySubject): Promise<Spoken[]> {
  const spoken: Spoken[] = [];
  const call = async (operation: string, request: InjectedRequest) => {
    const answer = await service.call(request);
    spoken.push({ operation, answer });
    return answer;
  };
  const { tenantId } = canaryScope;
  let event: Readonly<Record<string, string>> = { eventId: 'none' };
  const headers = Object.entries(await trusted());
  const unwanted = wrongCredentials(canaries, Object.fromEntries(headers));
  const query = `api_key=${canaries.make('token')}&access_token=${canaries.makeJwt()}`;
  const answers = new Map<string, Json[]>();
  const held = model === null ? null : await heldRun(call, canaries, Object.fromEntries(headers));
  const stored = model === null ? null : await storedRecord(call, canaries, headers);
  const scope = new URLSearchParams({ productId: canaryScope.productId, tenantId }).toString();
  if (model !== null && stored !== null)
    await askModel(model, { call, canaries, headers: Object.fromEntries(headers), scope, stored });
  for (const entry of allEntries) {
    // These would remove or replace what the next operations read.
    const known = changing.has(entry.id) ? held : { ...held, ...stored?.names };
    for (const route of entry.routes) {
      const params = Object.fromEntries(
        route.path.map(({ name }) => [
          name,
          name === 'tenantId' ? tenantId : (event[name] ?? known?.[name] ?? canaries.make('payload')),
        ]),
      );
      const draft: Draft = {
        params,
        query: [],
        headers,
        body: bodyOf(entry, canaries, { tenantId, ...params }, answers),
      };
      const right = {
        ...draft,
        body: route.bodyFromParameters ? undefined : withToken(draft.body, event, held),
      };
      const answer = await call(entry.id, requestOf({ entry, route }, right));
      event = leaseIn(answer, canaries) ?? event;
      remember(entry, answer, answers);
      const place = { set, entry, route, fixed: { tenantId }, vocabulary: new Map(), answers };
      const secret = canaries.make('payload');
      // The service refuses a malformed request before it asks a store that cannot be opened.
      const broken = model === null ? [] : brokenWith(secret, brokenDrafts(place, right));
      for (const wrong of [...broken, ...spoiledWith(secret, right)]) {
        await call(entry.id, requestOf({ entry, route }, wrong));
      }
      for (const wrong of unwanted) {
        await call(entry.id, requestOf({ entry, route }, { ...right, headers: Object.entries(wrong) }));
      }
      const path = `${pathOf(route, params)}?${query}`;
      await call(entry.id, { ...requestOf({ entry, route }, right), path });
    }
  }
  return spoken;
}

/** Every way to break one rule, with the secret in what is refused: a refusal that quotes it would show. */
function brokenWith(secret: string, drafts: readonly BrokenDraft[]): readonly Draft[] {
  return chosenOf(drafts).map((draft) => {
    const params = mapTexts(draft.params, (text) => revealing(text, secret));
    const query = draft.query.map(([name, text]) => [name, revealing(text, secret)] as const);
    return { ...draft, params, query, body: mapTexts(draft.body, (text) => revealing(text, secret)) };
  });
}

/** Texts that fit every schema and that only the code behind it refuses. */
function spoiledWith(secret: string, right: Draft): readonly Draft[] {
  let leaves = 0;
  mapTexts(right.body, () => String((leaves += 1)));
  return Array.from({ length: leaves }, (_, chosen) => {
    let at = 0;
    const body = mapTexts(right.body, (text) => (at++ === chosen ? `${secret}\u0001${text}` : text));
    return { ...right, body };
  });
}

/**
 * Among requests that break the same rule at the same place, the one that holds the secret most often. The nightly run takes all of
 * them, since it has time for texts beyond a bound of a million.
 */
function chosenOf(drafts: readonly BrokenDraft[]): readonly Draft[] {
  if (isNightly) return drafts.map(({ draft }) => draft);
  const best = new Map<string, { readonly draft: Draft; readonly fillers: number }>();
  for (const { label, draft } of drafts) {
    let [length, fillers] = [0, 0];
    for (const text of textsIn([draft.params, Object.fromEntries(draft.query), draft.body])) {
      length += text.length;
      if (length > 100_000) break;
      if (isFiller(text)) fillers += 1;
    }
    if (length > 100_000) continue;
    if (fillers > (best.get(label)?.fillers ?? -1)) best.set(label, { draft, fillers });
  }
  return [...best.values()].map(({ draft }) => draft);
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array))
    for (const member of Object.values(value)) yield* textsIn(member);
}

/** Whether the text is filler of a malformed request. */
function isFiller(text: string): boolean {
  return isLongFiller(text) || ['text', 'x', 'now'].includes(text) || /\p{Cc}/u.test(text);
}

// No pattern: it would overflow the stack on the longest of them.
function isLongFiller(text: string): boolean {
  return text.length >= 10 && text === 'a'.repeat(text.length);
}

/** Replaces the filler of a malformed request by the secret. */
function revealing(text: string, secret: string): string {
  if (isLongFiller(text)) return secret.repeat(Math.ceil(text.length / secret.length)).slice(0, text.length);
  return isFiller(text) ? `${secret}${text}` : text;
}

function mapTexts<V>(value: V, change: (text: string) => string): V {
  if (typeof value === 'string') return change(value) as V;
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => mapTexts(item, change)) as V;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapTexts(member, change)]),
  ) as V;
}

/** Everything that was written anywhere, by the kinds of secrets that must not be in it. */
export function placesOf(service: RunningService, spoken: readonly Spoken[]) {
  const texts = spoken.map(({ operation, answer }, n) => {
    const name = `answer ${n} of ${operation}: ${answer.status}`;
    return { operation, answer, name, content: `${JSON.stringify(answer.headers)}\n${answer.body}` };
  });
  return {
    log: service.lines.map((content, n): SearchPlace => ({ name: `log line ${n}`, content })),
    problems: texts.filter(({ answer }) => answer.status >= 400),
    answers: texts.filter(({ answer }) => answer.status < 400),
    files: filesIn(service.folder),
  };
}

export function filesIn(folder: string): SearchPlace[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => ({ name, content: readFileSync(join(parentPath, name)) }));
}

/** Keeps an answer that a later request may have to return. */
function remember(entry: OperationEntry, answer: InjectedResponse, answers: Map<string, Json[]>): void {
  const model = entry.responses.find(({ status }) => status === answer.status)?.schema;
  if (typeof model === 'string') answers.set(model, [...(answers.get(model) ?? []), answer.json<Json>()]);
}

/**
 * The example of the operation with a secret in the place of every text without a prescribed form; its verbatim members are
 * an earlier answer, which is full of secrets.
 */
function bodyOf(
  entry: OperationEntry,
  canaries: Canaries,
  params: Readonly<Record<string, string>>,
  answers: Answers,
): Json | undefined {
  if (entry.requestSchema === null) return undefined;
  const schema = set.model(entry.requestSchema);
  const secret = canaries.make('payload');
  const body = salted(set, schema, schema.examples?.[0] ?? {}, { free: secret, text: secret, fixed: params });
  // A store that answers nothing gives nothing to give back.
  const known = [...verbatimMembers(set, entry.requestSchema).values()].every((model) => answers.has(model));
  return known ? givingBack(set, entry.requestSchema, body, (model) => firstOf(answers, model)) : body;
}

function withToken(
  body: Draft['body'],
  event: Readonly<Record<string, string>>,
  held: Readonly<Record<string, string>> | null,
): Draft['body'] {
  if (typeof body !== 'object' || body === null || !('leaseToken' in body)) return body;
  const known = 'leaseKey' in body ? (held ?? {}) : event;
  const proof = Object.entries(known).filter(([name]) =>
    ['leaseKey', 'leaseToken', 'workerId'].includes(name),
  );
  return { ...(body as Record<string, Json>), ...Object.fromEntries(proof) };
}

/** Runs full of secrets; gives the one that is held, by the names that requests call its parts. */
async function heldRun(
  call: (operation: string, request: InjectedRequest) => Promise<InjectedResponse>,
  canaries: Canaries,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const owner = { ...canaryScope, mark: canaries.make('payload'), headers };
  const named = (request: InjectedRequest) =>
    request.path === '/execution/workers/leases' ? 'leaseExternalExecutionRun' : 'startExecutionRun';
  const { ids, proof, tokens } = await furnishRuns((request) => call(named(request), request), owner);
  for (const token of tokens) canaries.plant('lease-token', token);
  return { ...proof, runId: ids.held, artifactRef: ARTIFACT, key: CHECKPOINT };
}

const changing: ReadonlySet<string> = new Set([
  'deleteCollection',
  'deleteRecord',
  'importCollection',
  'startCollectionImportJob',
]);

interface StoredRecord {
  readonly collection: string;
  readonly field: string;
  readonly text: string;
  /** By the names of path parameters. */
  readonly names: Readonly<Record<string, string>>;
}

/** A collection with a record full of secrets, its names too. */
async function storedRecord(
  call: (operation: string, request: InjectedRequest) => Promise<InjectedResponse>,
  canaries: Canaries,
  headers: readonly (readonly [string, string])[],
): Promise<StoredRecord> {
  const [collection, pk, id] = [canaries.make('payload'), canaries.make('payload'), canaries.make('payload')];
  const secret = () => canaries.make('payload');
  const { productId, tenantId } = canaryScope;
  const query = new URLSearchParams({ productId, tenantId }).toString();
  const post = (operation: string, path: string, body: object) => {
    const sent = { ...Object.fromEntries(headers), 'Content-Type': 'application/json' };
    return call(operation, { method: 'POST', path, headers: sent, body });
  };
  const field = secret();
  const vectorPolicies = [{ name: field, path: `/vectors/${field}/values`, dimensions: 2 }];
  const policy = { name: collection, vectorPolicies, indexedMetadata: [`/metadata/${secret()}`] };
  const made = await post('createCollection', `/collections?${query}`, policy);
  const { id: runId } = made.json<{ id: string }>();
  const path = `/execution/runs/${runId}`;
  for (let status = 'queued'; status !== 'succeeded'; ) {
    const run = await call('getExecutionRun', { method: 'GET', path, headers: Object.fromEntries(headers) });
    ({ status } = run.json<{ status: string }>());
    if (status === 'failed' || run.status !== 200) throw new Error(`no collection was made: ${run.body}`);
    await nextTurn();
  }
  const record = { id, partitionKey: pk, type: secret(), metadata: { [secret()]: secret() } };
  const text = secret();
  const written = await post('upsertRecord', `/collections/${collection}/records`, {
    ...record,
    content: { text },
    vectors: { [field]: { values: [1, 2] } },
  });
  if (written.status !== 201) throw new Error(`no record was written: ${written.body}`);
  const filter = { path: '/partitionKey', value: pk };
  await post('queryRecords', `/collections/${collection}/query`, { filter });
  const search = `/collections/${collection}/search`;
  for (const value of [[1, 2], [1]]) await post('searchRecords', search, { vector: { field, value } });
  const lexical = { query: `"${text}"`, fields: ['/content'] };
  await post('searchRecords', search, { lexical, filter });
  return { collection, field, text, names: { collection, pk, id, provider: CANARY_PROVIDER } };
}

/** The event and the token of a lease, if the answer gives one. The token is a secret from now on. */
function leaseIn(answer: InjectedResponse, canaries: Canaries): Record<string, string> | undefined {
  if (answer.status !== 200 || !answer.body.startsWith('[{"event"')) return undefined;
  const [lease] = JSON.parse(answer.body) as { event: { id: string }; leaseToken: string }[];
  if (lease === undefined) return undefined;
  return { eventId: lease.event.id, leaseToken: canaries.plant('lease-token', lease.leaseToken) };
}

/** Credentials that are not accepted, in every header that could carry one. */
function wrongCredentials(canaries: Canaries, good: Readonly<Record<string, string>>) {
  const jwt = canaries.makeJwt();
  return [
    {},
    { Authorization: `Bearer ${jwt}` },
    { Authorization: `Basic ${canaries.make('token')}` },
    { 'X-Svc-Api-Key': canaries.make('api-key') },
    { ...good, 'X-Serverless-Authorization': `Bearer ${jwt}` },
    { ...good, Authorization: `Bearer ${canaries.make('token')}` },
    { ...good, Cookie: `session=${canaries.make('token')}`, 'X-Goog-IAP-JWT-Assertion': jwt },
    { ...good, 'Idempotency-Key': canaries.make('payload') },
    { ...good, 'X-Correlation-ID': `not/allowed ${canaries.make('token')}` },
  ];
}
