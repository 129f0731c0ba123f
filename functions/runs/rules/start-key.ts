import type { Run } from '../run.ts';

/**
 * The concurrency key of a start request. A slot has one place for each run that may be executed at a time. A place belongs to one
 * lease of one run, so the run itself says whether its place is still taken: what ends the run, or its lease, frees it.
 */
export interface KeyPlace {
  readonly runId: string;
  /** The number of the lease that the place is for. */
  readonly attempt: number;
}

export interface KeySlot {
  readonly places: readonly KeyPlace[];
  /** Zero: no run waits for the key. Any other number: one may wait, and each run that begins to wait makes it larger. */
  readonly waits: number;
}

export const EMPTY_SLOT: KeySlot = { places: [], waits: 0 };

/** The part of a run that decides about its place. */
export interface PlaceHolder {
  readonly status: string;
  readonly attempt: number;
  readonly leaseExpiresAt: number | null;
}

/** `lapsed`: the lease of its run has run out, and the run is not settled yet. */
type PlaceState = 'free' | 'taken' | 'lapsed';

/** The state of a place, by the run that has it. @testonly */
export function placeState(place: KeyPlace, holder: PlaceHolder | undefined, now: number): PlaceState {
  if (holder === undefined) return 'free';
  const { status, attempt, leaseExpiresAt } = holder;
  if (status === 'running' && attempt === place.attempt)
    return (leaseExpiresAt ?? 0) <= now ? 'lapsed' : 'taken';
  // The place was offered to the run, and its lease follows.
  return status === 'queued' && attempt + 1 === place.attempt ? 'taken' : 'free';
}

export interface KeyView {
  readonly slot: KeySlot;
  readonly holderOf: (runId: string) => PlaceHolder | undefined;
  /** Runs of the key that may be executed at a time. */
  readonly limit: number;
  readonly now: number;
}

/**
 * `free`: the run may be leased, and `places` has its place. `full`: it waits. `behind`: it waits although there is room, since an
 * earlier run may wait. `lapsed`: the runs are to be settled first.
 */
export type KeyDecision =
  | { readonly kind: 'free'; readonly places: readonly KeyPlace[] }
  | { readonly kind: 'full' }
  | { readonly kind: 'behind' }
  | { readonly kind: 'lapsed'; readonly runIds: readonly string[] };

/** Whether the queued run may be leased now. */
export function enterKey(run: Pick<Run, 'id' | 'attempt'>, view: KeyView): KeyDecision {
  const { taken, lapsed } = placesOf(view, run.id);
  if (lapsed.length > 0) return { kind: 'lapsed', runIds: lapsed };
  const own: KeyPlace = { runId: run.id, attempt: run.attempt + 1 };
  if (view.slot.places.some((place) => isSame(place, own))) return { kind: 'free', places: [...taken, own] };
  if (taken.length >= view.limit) return { kind: 'full' };
  return view.slot.waits > 0 ? { kind: 'behind' } : { kind: 'free', places: [...taken, own] };
}

/** The slot after a run began to wait for the key. */
export function withWaiting(slot: KeySlot): KeySlot {
  return { ...slot, waits: slot.waits + 1 };
}

/**
 * The slot with a place for the run that has waited longest, or `null` without room. `isLast`: no other run waits, as a list read
 * after `seenWaits` has it; a run that began to wait since has changed the number.
 */
export function offerPlace(
  run: Pick<Run, 'id' | 'attempt'>,
  view: KeyView,
  { isLast, seenWaits }: { readonly isLast: boolean; readonly seenWaits: number },
): KeySlot | null {
  const { taken, lapsed } = placesOf(view, run.id);
  if (taken.length + lapsed.length >= view.limit) return null;
  const kept = view.slot.places.filter(({ runId }) => runId !== run.id && lapsed.includes(runId));
  const places = [...taken, ...kept, { runId: run.id, attempt: run.attempt + 1 }];
  return { places, waits: isLast && view.slot.waits === seenWaits ? 0 : view.slot.waits };
}

/** The slot once no run waits for it; `null`: nothing is left of it. */
export function withoutWaiting(view: KeyView): KeySlot | null {
  const { taken, lapsed } = placesOf(view, '');
  return taken.length + lapsed.length === 0 ? null : { ...view.slot, waits: 0 };
}

/** The slot without the places of a removed run; `null`: nothing is left of it. */
export function withoutRun(slot: KeySlot, runId: string): KeySlot | null {
  const places = slot.places.filter((place) => place.runId !== runId);
  return places.length === 0 && slot.waits === 0 ? null : { ...slot, places };
}

interface Places {
  readonly taken: readonly KeyPlace[];
  readonly lapsed: readonly string[];
}

/** The places of other runs. */
function placesOf({ slot, holderOf, now }: KeyView, ownId: string): Places {
  const others = slot.places.filter(({ runId }) => runId !== ownId);
  const states = others.map((place) => ({ place, state: placeState(place, holderOf(place.runId), now) }));
  return {
    taken: states.filter(({ state }) => state === 'taken').map(({ place }) => place),
    lapsed: states.filter(({ state }) => state === 'lapsed').map(({ place }) => place.runId),
  };
}

function isSame(one: KeyPlace, other: KeyPlace): boolean {
  return one.runId === other.runId && one.attempt === other.attempt;
}
