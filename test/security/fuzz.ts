import * as fc from 'fast-check';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import { forAll } from '../support/effort.ts';
import { type Target } from './attacked.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { RecordSpace } from './record-space.ts';
import {
  agreeing,
  aligned,
  type BrokenDraft,
  brokenDrafts,
  type Draft,
  type Place,
  requestOf,
  validDrafts,
} from './requests.ts';
import { placeFor } from './target.ts';
import { firstOf, givingBack } from './verbatim.ts';

/** A call that succeeds once, such as releasing a lease, succeeds again on a newly furnished tenant. */
const TENANTS = 5;
const TARGET_MAX = 12_288;
const FIELDS_MAX = 12_288;

/** Draws requests that break no rule; gives how many were accepted. */
export async function fuzzValid(target: Target, entry: OperationEntry, route: OperationRoute, count: number) {
  let accepted = 0;
  for (let round = 0; round < TENANTS; round += 1) {
    const place = await placeFor(target, entry, route);
    await forAll(
      `valid ${route.operationId} ${round}`,
      count / TENANTS,
      validDrafts(place),
      async (draft) => {
        const answer = await target.call(requestOf(place, draft));
        if (judge(target.set, entry, answer).accepted) accepted += 1;
      },
    );
  }
  return accepted;
}

/** Draws requests that break one rule; gives which rules were broken. */
export async function fuzzInvalid(
  target: Target,
  entry: OperationEntry,
  route: OperationRoute,
  count: number,
) {
  const place = inKnownCollection(await placeFor(target, entry, route));
  const broken = new Set<string>();
  const attempt = async ({ label, draft }: BrokenDraft) => {
    const request = requestOf(place, draft);
    const answer = await target.call(request);
    broken.add(label);
    judge(target.set, entry, answer);
    // A conflict with stored data, or its absence, would hide that the broken rule was never checked. A target or header
    // fields beyond their limits are refused before they are read.
    const tooLong = answer.status === 431 && isBeyondHead(request);
    // The lease of a large body is judged before the body is read.
    const unleased = entry.id === 'putExternalExecutionLeaseArtifact' && answer.status === 409;
    const refused = [400, 413, 415].includes(answer.status) || tooLong || unleased;
    if (!refused && !(await isRefusedByJob(target, label, answer))) {
      throw new BrokenPromise(`${entry.id} did not refuse ${label} as malformed`, answer);
    }
  };
  // Every rule once, on the simplest request there is, and then at random. What is malformed before it is broken would
  // prove nothing.
  const whole = simplest(place);
  const answer = await target.call(requestOf(place, whole));
  if (answer.status === 400) throw new BrokenPromise(`the example of ${entry.id} is refused`, answer);
  for (const each of brokenDrafts(place, whole)) await attempt(each);
  const drawn = fc.tuple(validDrafts(place), fc.nat()).map(([draft, at]) => {
    const choices = brokenDrafts(place, draft);
    return choices[at % choices.length];
  });
  await forAll(`invalid ${route.operationId}`, count, drawn, async (each) => {
    if (each !== undefined) await attempt(each);
  });
  return broken;
}

function isBeyondHead({ path, headers = [] }: InjectedRequest): boolean {
  const fields = Array.isArray(headers) ? headers : Object.entries(headers);
  const bytes = fields.reduce((sum, [name, value]) => sum + `${name}: ${String(value)}\r\n`.length, 0);
  return path.length > TARGET_MAX || bytes > FIELDS_MAX;
}

/** Some rules of a record need the policy of its collection: an absent collection would hide that they were never checked. */
function inKnownCollection(place: Place): Place {
  const [collection] = place.vocabulary.get('collection') ?? [];
  return collection === undefined ? place : { ...place, fixed: { ...place.fixed, collection } };
}

const LARGE_ELEMENT =
  /^body: x-svc-max-bytes (?:(?:\/snapshot)?\/records|\/envelope\/(?:nodes|edges|assertions|reviews|projections))\/\d/;

/**
 * Whether the request was for a job, and the job refused the record or element that is too large: each of them has an outcome of its
 * own.
 */
async function isRefusedByJob({ call }: Target, label: string, answer: InjectedResponse): Promise<boolean> {
  if (answer.status !== 202 || !LARGE_ELEMENT.test(label)) return false;
  const { id, admission } = answer.json<{ id: string; admission: { statusUri: string } }>();
  await new RecordSpace(call).settled(id);
  const job = await call({ method: 'GET', path: admission.statusUri });
  const { status, failed } = job.json<{ status: string; failed: number }>();
  return status === 'failed' || failed > 0;
}

/**
 * The example of the contract, where the operation has one, for what the place names in its path; what it gives back is a
 * real answer.
 */
export function simplest(place: Place): Draft {
  const [drawn] = fc.sample(validDrafts(place), { numRuns: 1, seed: 1 });
  if (drawn === undefined) throw new Error('nothing was drawn');
  const { path, query, headers } = place.route;
  const params = path.map(({ name }) => [name, place.vocabulary.get(name)?.[0] ?? drawn.params[name] ?? '']);
  const draft = {
    params: { ...Object.fromEntries(params), ...place.fixed },
    query: onlyRequired(query, drawn.query),
    headers: onlyRequired(headers, drawn.headers),
    body: drawn.body,
  };
  const { requestSchema } = place.entry;
  const example = requestSchema === null ? undefined : place.set.model(requestSchema).examples?.[0];
  if (draft.body === undefined || example === undefined || requestSchema === null) return draft;
  const whole = givingBack(place.set, requestSchema, example, (model) => firstOf(place.answers, model));
  return agreeing(place.entry, { ...draft, body: aligned(whole, draft.params) });
}

/** Some parameters are legal only together, and a drawn page token is none that the service gave. */
function onlyRequired(specs: readonly ParameterSpec[], drawn: Draft['query']): Draft['query'] {
  const required = new Set(specs.filter((spec) => spec.required).map(({ name }) => name));
  return drawn.filter(([name]) => required.has(name));
}
