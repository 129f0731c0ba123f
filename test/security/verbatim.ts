import * as fc from 'fast-check';
import { type Json, referenceName } from '../../contracts/generate/schema.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { type Answers, noAnswers, type Vocabulary } from './arbitrary.ts';
import { seedOf } from './effort.ts';
import { requestOf, validDrafts } from './requests.ts';
import type { SchemaSet } from './schema-set.ts';
import { emptySnapshot } from './seal.ts';
import type { Target } from './target.ts';

/**
 * Requests that give back what was answered, marked `x-svc-verbatim`: what such a member holds agrees with itself in ways
 * that no schema tells, so it is taken from a real answer.
 */

/** How often a tenant is written to before it is asked a second time for what will be given back. */
const STIRRINGS = 80;
const noWords: Vocabulary = new Map();

/** The members of the request that are given back, each with its model. */
export function verbatimMembers(set: SchemaSet, request: string | null): ReadonlyMap<string, string> {
  const { properties = {} } = request === null ? {} : set.model(request);
  return new Map(
    Object.entries(properties).flatMap(([name, schema]) =>
      schema['x-svc-verbatim'] === true ? [[name, referenceName(schema) ?? '']] : [],
    ),
  );
}

/** The request with what is given back in its place, and without what only fits what stood there. */
export function givingBack(
  set: SchemaSet,
  request: string,
  body: Json,
  whole: (model: string) => Json,
): Json {
  const members = verbatimMembers(set, request);
  if (members.size === 0) return body;
  const { required = [] } = set.model(request);
  const kept = Object.entries(body as Record<string, Json>).filter(([name]) => required.includes(name));
  return Object.fromEntries([
    ...kept,
    ...[...members].map(([name, model]) => [name, whole(model)] as const),
  ]) as Json;
}

/** What a tenant that nobody wrote to would have answered. */
export function blank(model: string, tenantId: string): Json {
  if (model === 'CanonicalTenantSnapshot') return emptySnapshot(tenantId);
  throw new Error(`${model} is given back as it was answered, and the attacks do not know a blank one`);
}

export function firstOf(answers: Answers, model: string): Json {
  const [first] = answers.get(model) ?? [];
  if (first === undefined) throw new Error(`nobody was asked for a ${model}`);
  return first;
}

/** Asks the tenant for whatever a request of `entry` gives back; the first answer is what `furnish` has left there. */
export async function answersFor(
  target: Target,
  entry: OperationEntry,
  tenantId: string,
  stirrings = STIRRINGS,
): Promise<Answers> {
  const wanted = new Set(verbatimMembers(target.set, entry.requestSchema).values());
  if (wanted.size === 0) return noAnswers;
  const answers = new Map<string, Json[]>();
  await ask(target, wanted, tenantId, answers);
  if (stirrings > 0) {
    await stir(target, tenantId, stirrings);
    await ask(target, wanted, tenantId, answers);
  }
  for (const model of wanted) answers.get(model)?.push(blank(model, tenantId));
  return answers;
}

async function ask(
  target: Target,
  wanted: ReadonlySet<string>,
  tenantId: string,
  answers: Map<string, Json[]>,
) {
  for (const model of wanted) {
    const entry = target.entries.find(({ responses }) => responses.some(({ schema }) => schema === model));
    const [route] = entry?.routes ?? [];
    if (entry === undefined || route === undefined) throw new Error(`no operation answers a ${model}`);
    const draft = { params: { tenantId }, query: [], headers: [], body: undefined };
    const answer = await target.call(requestOf({ entry, route }, draft));
    answers.set(model, [...(answers.get(model) ?? []), answer.json<Json>()]);
  }
}

/** Writes to the tenant whatever the contract allows, so that what comes back is as strange as it can be. */
async function stir(target: Target, tenantId: string, numRuns: number): Promise<void> {
  for (const entry of target.entries) {
    const [route] = entry.routes;
    const ofTenant = route?.path.length === 1 && route.path[0]?.name === 'tenantId';
    const changes = entry.mutation !== 'read' && entry.requestMediaType === 'application/json';
    if (!ofTenant || !changes || verbatimMembers(target.set, entry.requestSchema).size > 0) continue;
    const place = {
      set: target.set,
      entry,
      route,
      fixed: { tenantId },
      // Names of earlier answers would only bring earlier answers back.
      vocabulary: noWords,
      answers: noAnswers,
    };
    const drafts = fc.sample(validDrafts(place), { numRuns, seed: seedOf(`stir ${route.operationId}`) });
    for (const draft of drafts) await target.call(requestOf(place, draft));
  }
}
