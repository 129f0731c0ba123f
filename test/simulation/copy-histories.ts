import type {
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import type { Copy } from './copy-oracle.ts';
import type { Observation } from './history.ts';
import { nameOf } from './model.ts';
import { add, type ObjectHistories } from './object-histories.ts';
import type { DocumentState, FenceState } from './object-models.ts';
import { type Portrait, portraitOfCopy } from './portraits.ts';

/** Adds the answers and effects of exports and restores to the history of every single object: a copy touches them all. */
export function addCopies(histories: ObjectHistories, observations: readonly Observation[]): void {
  const copies = observations.flatMap((observation) => {
    const copy = copyOf(observation);
    return copy === undefined ? [] : [{ observation, ...copy, portrait: portraitOfCopy(copy.copy) }];
  });
  const touched = keysByFence(observations);
  const names = (kind: 'documents' | 'fences' | 'events') =>
    new Set([...histories[kind].keys(), ...copies.flatMap(({ portrait }) => Object.keys(portrait[kind]))]);
  for (const { observation, kind, portrait } of copies) {
    for (const name of names('documents')) {
      const state = documentIn(portrait, name);
      add(histories.documents, name, { kind, state }, observation);
    }
    for (const name of names('fences')) {
      const state = fenceIn(portrait, name, touched.get(name) ?? new Set());
      add(histories.fences, name, { kind, state }, observation);
    }
    for (const name of names('events')) {
      const { count, state } = portrait.events[name] ?? { count: 0, state: 'open' };
      // An event that was not there may not have been made yet.
      if (kind === 'exported' && portrait.events[name] === undefined) continue;
      add(histories.events, name, { kind, count, delivered: state === 'delivered' }, observation);
    }
  }
}

function copyOf({ operation, body, outcome }: Observation) {
  if (operation === 'exportCanonicalTenant' || operation === 'exportTenantArchive') {
    if (outcome.kind !== 'answer') return undefined;
    return { kind: 'exported', copy: outcome.body as unknown as Copy } as const;
  }
  if (operation !== 'restoreCanonicalTenant' && operation !== 'restoreTenantArchive') return undefined;
  if (outcome.kind === 'failed' || outcome.kind === 'refused') return undefined;
  const { archive, snapshot } = body as { readonly archive?: Copy; readonly snapshot?: Copy };
  return { kind: 'restored', copy: (archive ?? snapshot) as Copy } as const;
}

function documentIn({ documents, receipts }: Portrait, name: string): DocumentState {
  const { revision = 0, deleted = false } = documents[name] ?? {};
  const written: Record<string, number> = {};
  for (const [key, text] of Object.entries(receipts)) {
    const { documents: results } = JSON.parse(text) as CanonicalTransactionResult;
    const own = results.find(({ documentType, id }) => nameOf(documentType, id) === name);
    if (own !== undefined) written[key] = own.revision;
  }
  return { revision, deleted, written };
}

function fenceIn({ fences, receipts }: Portrait, name: string, touching: ReadonlySet<string>): FenceState {
  const keys = Object.keys(receipts).filter((key) => touching.has(key));
  return { owner: fences[name] ?? null, keys: keys.sort() };
}

/** A receipt does not tell which fences its commit moved; its request does. */
function keysByFence(observations: readonly Observation[]): Map<string, Set<string>> {
  const touched = new Map<string, Set<string>>();
  for (const { operation, body } of observations) {
    if (operation !== 'commitCanonicalTransaction') continue;
    const { idempotencyKey, fences } = body as CanonicalTransactionRequest;
    for (const { name, value } of fences ?? []) {
      const keys = touched.get(nameOf(name, value)) ?? new Set();
      touched.set(nameOf(name, value), keys.add(idempotencyKey));
    }
  }
  return touched;
}
