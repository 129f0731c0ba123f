import * as fc from 'fast-check';
import { type Json, referenceName } from '../../contracts/generate/schema.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { seedOf } from '../support/effort.ts';
import { type Answers, noAnswers, type Vocabulary } from './arbitrary.ts';
import type { Target } from './attacked.ts';
import { requestOf, validDrafts } from './requests.ts';
import type { SchemaSet } from './schema-set.ts';
import { emptySnapshot } from './seal.ts';

/**
 * Requests that return an earlier answer, marked `x-svc-verbatim`: the values of such a member depend on each other in ways
 * that no schema expresses, so it is taken from a real answer.
 */

/** How often a tenant is written to before the second answer is taken. */
const STIRRINGS = 80;
const noWords: Vocabulary = new Map();

/** The verbatim members of the request, each with its model. */
export function verbatimMembers(set: SchemaSet, request: string | null): ReadonlyMap<string, string> {
  const { properties = {} } = request === null ? {} : set.model(request);
  return new Map(
    Object.entries(properties).flatMap(([name, schema]) =>
      schema['x-svc-verbatim'] === true ? [[name, referenceName(schema) ?? '']] : [],
    ),
  );
}

/** The request with the earlier answer in its place, and without members that fit only the replaced value. */
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

/** The answer of a tenant without any writes. */
export function blank(model: string, tenantId: string): Json {
  if (model === 'CanonicalTenantSnapshot') return emptySnapshot(tenantId);
  throw new Error(`${model} is given back as it was answered, and the attacks do not know a blank one`);
}

export function firstOf(answers: Answers, model: string): Json {
  const [first] = answers.get(model) ?? [];
  if (first === undefined) throw new Error(`no earlier answer is a ${model}`);
  return first;
}

/** Asks the tenant for the answer that a request of `entry` returns; the first answer is the state that `furnish` made. */
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

/** Writes to the tenant every kind of value that the contract allows, so that the answers are as varied as possible. */
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
