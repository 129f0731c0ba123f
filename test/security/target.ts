import { randomUUID } from 'node:crypto';
import type { Json } from '../../contracts/generate/schema.ts';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { type Answers, noAnswers, type Vocabulary } from './arbitrary.ts';
import type { Target } from './attacked.ts';
import { recordGroups } from './matrix-records.ts';
import { furnishObjectWords } from './object-belongings.ts';
import { furnishProviderWords, furnishRecordWords } from './record-belongings.ts';
import { aligned, type Place, requestOf } from './requests.ts';
import { furnishRuns, wordsOf } from './runs.ts';
import { salted } from './salt.ts';
import { answersFor, firstOf, givingBack } from './verbatim.ts';

export const allEntries: readonly OperationEntry[] = Object.values(operations);

/** Every operation on each of its routes, aliases too. */
export function routesOf(
  entries: readonly OperationEntry[],
): readonly { readonly name: string; readonly entry: OperationEntry; readonly route: OperationRoute }[] {
  return entries.flatMap((entry) =>
    entry.routes.map((route) => ({ name: `${route.method} ${route.operationId}`, entry, route })),
  );
}

/** A tenant of its own for each attack: the next attack does not meet the changed data. */
export function freshTenant(): string {
  return `tenant-${randomUUID()}`;
}

/**
 * The request that the contract shows as the example of the operation, for this tenant; `mark` goes into its content. What
 * it gives back is one of the `answers`, where there are any.
 */
export function exampleRequest(
  { set }: Pick<Target, 'set'>,
  entry: OperationEntry,
  tenantId: string,
  { mark, answers = noAnswers }: { readonly mark?: string; readonly answers?: Answers } = {},
): InjectedRequest | undefined {
  const [route] = entry.routes;
  if (route === undefined) return undefined;
  const schema = entry.requestSchema === null ? undefined : set.model(entry.requestSchema);
  const example = schema?.examples?.[0];
  const params = Object.fromEntries(
    route.path.map(({ name }) => [name, name === 'tenantId' ? tenantId : name]),
  );
  const marked =
    schema === undefined || example === undefined || mark === undefined
      ? example
      : salted(set, schema, example, { free: mark, fixed: {} });
  const body =
    marked === undefined || entry.requestSchema === null || answers.size === 0
      ? marked
      : givingBack(set, entry.requestSchema, marked, (model) => firstOf(answers, model));
  return requestOf({ entry, route }, { params, query: [], headers: [], body: aligned(body, params) });
}

/**
 * Gives the tenant something to be attacked, without a word about any single operation: the examples of all operations
 * that need no name beyond the tenant, in the order of the catalog, and runs as workers leave them. What the answers call by a name is what later
 * requests are drawn from, so that attacks reach beyond "not found".
 */
export async function furnish(target: Target, tenantId: string, mark?: string): Promise<Vocabulary> {
  const words = new Map<string, Set<string>>();
  for (const entry of target.entries) {
    // Other workers would lease the runs that are made below.
    if (entry.authorizationClass === 'execution-worker') continue;
    const others = entry.routes[0]?.path.filter(({ name }) => name !== 'tenantId') ?? [];
    const request = exampleRequest(target, entry, tenantId, mark === undefined ? {} : { mark });
    if (others.length > 0 || entry.requestMediaType !== 'application/json' || request === undefined) continue;
    const answer = await target.call(request);
    if (answer.status === 200) gather(JSON.parse(answer.body) as Json, '', words);
  }
  const gathered = new Map([...words].map(([name, texts]) => [name, [...texts].slice(0, 20)] as const));
  if (!target.entries.some(({ id }) => id === 'startExecutionRun')) return gathered;
  const owner = { productId: 'billing', tenantId, workerId: `worker-${tenantId}`, mark: mark ?? tenantId };
  return merged(gathered, wordsOf(await furnishRuns(target.call, owner)));
}

/** Both vocabularies. A name such as `leaseToken` may be in both, and then the values of each are drawn about as often. */
function merged(gathered: Vocabulary, made: Vocabulary): Vocabulary {
  const all = new Map(gathered);
  for (const [name, texts] of made) {
    const known = all.get(name) ?? [];
    const times = Math.max(1, Math.ceil(known.length / texts.length));
    all.set(name, [...Array.from({ length: times }, () => texts).flat(), ...known]);
  }
  return all;
}

/** Texts by the names of their members; the `id` of an `event` is an `eventId` too. */
function gather(value: Json, parent: string, words: Map<string, Set<string>>): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) gather(item, parent, words);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') {
      gather(member, name, words);
      continue;
    }
    const names = name === 'id' && parent !== '' ? [name, `${parent}Id`] : [name];
    for (const each of names) words.set(each, (words.get(each) ?? new Set()).add(member));
  }
}

/** A tenant with something to attack, and the words of its answers. */
export interface FurnishedTenant {
  readonly tenantId: string;
  readonly words: Vocabulary;
}

export async function furnishedTenant(target: Target): Promise<FurnishedTenant> {
  const tenantId = freshTenant();
  return { tenantId, words: await furnish(target, tenantId) };
}

/** The place that attacks on the operation use, in a tenant of its own where none is given. */
export async function placeFor(
  target: Target,
  entry: OperationEntry,
  route: OperationRoute,
  tenant?: FurnishedTenant,
): Promise<Place> {
  const { tenantId, words } = tenant ?? (await furnishedTenant(target));
  // Collections belong to a space, which all tenants here share: each place has one of its own.
  const vocabulary = merged(words, await wordsFor(target, entry, freshTenant()));
  const answers = await answersFor(target, entry, tenantId);
  return { set: target.set, entry, route, fixed: { tenantId }, vocabulary, answers };
}

async function wordsFor(target: Target, { group }: OperationEntry, collection: string): Promise<Vocabulary> {
  if (group === 'objects') return furnishObjectWords(target.call, collection);
  if (group === 'providers' || group === 'traces') return furnishProviderWords(target.call);
  if (!recordGroups.has(group)) return new Map();
  const ownStore = new Map([['providerId', ['svc-collection']]]);
  return merged(await furnishRecordWords(target.call, collection), ownStore);
}
