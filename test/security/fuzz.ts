import * as fc from 'fast-check';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { forAll } from './effort.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { type BrokenDraft, brokenDrafts, type Draft, requestOf, validDrafts } from './requests.ts';
import { placeFor, type Target } from './target.ts';

/** What works once, such as giving a lease back, works again on a tenant that is furnished anew. */
const TENANTS = 5;

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
  const place = await placeFor(target, entry, route);
  const broken = new Set<string>();
  const attempt = async ({ label, draft }: BrokenDraft) => {
    const answer = await target.call(requestOf(place, draft));
    broken.add(label);
    if (judge(target.set, entry, answer).accepted)
      throw new BrokenPromise(`${entry.id} accepted ${label}`, answer);
  };
  // Every rule once, on the simplest request there is, and then at random.
  for (const each of brokenDrafts(place, simplest(place))) await attempt(each);
  const drawn = fc.tuple(validDrafts(place), fc.nat()).map(([draft, at]) => {
    const choices = brokenDrafts(place, draft);
    return choices[at % choices.length];
  });
  await forAll(`invalid ${route.operationId}`, count, drawn, async (each) => {
    if (each !== undefined) await attempt(each);
  });
  return broken;
}

/** The example of the contract, where the operation has one. */
function simplest(place: Parameters<typeof validDrafts>[0]): Draft {
  const [draft] = fc.sample(validDrafts(place), { numRuns: 1, seed: 1 });
  const example =
    place.entry.requestSchema === null ? undefined : place.set.model(place.entry.requestSchema).examples?.[0];
  if (draft === undefined) throw new Error('nothing was drawn');
  return draft.body === undefined || example === undefined ? draft : { ...draft, body: example };
}
