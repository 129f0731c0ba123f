import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { ObjectModel } from './linearizability.ts';

/** The operations in the history of one document, as its writers see them. */
export type DocumentOp =
  | { readonly kind: 'read'; readonly revision: number; readonly deleted: boolean }
  /** The answer that no such document is visible. */
  | { readonly kind: 'read none'; readonly includeDeleted: boolean }
  /** A copy shows the document so, or brought it back so. */
  | { readonly kind: 'exported'; readonly state: DocumentState }
  | { readonly kind: 'restored'; readonly state: DocumentState }
  | DocumentWrite;

export interface DocumentWrite {
  readonly kind: 'write';
  readonly key: string;
  readonly deletes: boolean;
  readonly condition: (revision: number, deleted: boolean) => boolean;
  /** The revision that was answered; `refused`, or `unknown`. */
  readonly answer: number | 'refused' | 'unknown';
  readonly replayed: boolean;
}

export interface DocumentState {
  readonly revision: number;
  readonly deleted: boolean;
  /** The revision that each idempotency key wrote. */
  readonly written: Readonly<Record<string, number>>;
}

export const documentModel: ObjectModel<DocumentState, DocumentOp> = {
  initial: { revision: 0, deleted: false, written: {} },
  key: (state) => JSON.stringify(state),
  step(state, op) {
    const { revision, deleted, written } = state;
    if (op.kind === 'restored') return op.state;
    if (op.kind === 'exported') return same(state, op.state) ? state : undefined;
    if (op.kind === 'read') return op.revision === revision && op.deleted === deleted ? state : undefined;
    if (op.kind === 'read none') {
      return revision === 0 || (deleted && !op.includeDeleted) ? state : undefined;
    }
    const before = written[op.key];
    if (op.answer === 'refused') {
      return before === undefined && !op.condition(revision, deleted) ? state : undefined;
    }
    if (op.replayed) return before === op.answer ? state : undefined;
    if (before !== undefined || !op.condition(revision, deleted)) return undefined;
    if (op.answer !== 'unknown' && op.answer !== revision + 1) return undefined;
    return { revision: revision + 1, deleted: op.deletes, written: { ...written, [op.key]: revision + 1 } };
  },
};

/** Compares two states without regard to the order of their members. */
function same(left: DocumentState, right: DocumentState): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

export type FenceOp =
  | FenceChange
  | { readonly kind: 'exported'; readonly state: FenceState }
  | { readonly kind: 'restored'; readonly state: FenceState };

export interface FenceChange {
  readonly kind?: 'change';
  readonly key: string;
  readonly operation: 'claim' | 'release';
  readonly owner: string;
  readonly answer: 'done' | 'replayed' | 'refused' | 'unknown';
}

export interface FenceState {
  readonly owner: string | null;
  readonly keys: readonly string[];
}

export const fenceModel: ObjectModel<FenceState, FenceOp> = {
  initial: { owner: null, keys: [] },
  key: (state) => JSON.stringify(state),
  step(state, op) {
    if (op.kind === 'restored') return op.state;
    if (op.kind === 'exported') return canonicalJson(state) === canonicalJson(op.state) ? state : undefined;
    const { key, operation, owner, answer } = op;
    const known = state.keys.includes(key);
    if (answer === 'replayed') return known ? state : undefined;
    const free = operation === 'claim' && state.owner === null;
    const allowed = free || state.owner === owner;
    if (answer === 'refused') return !known && !allowed ? state : undefined;
    if (known || !allowed) return undefined;
    return { owner: operation === 'claim' ? owner : null, keys: [...state.keys, key].sort() };
  },
};

export type EventOp =
  | { readonly kind: 'lease'; readonly token: string; readonly count: number | 'unknown' }
  | { readonly kind: 'renew' | 'ack' | 'release'; readonly token: string; readonly answer: EventAnswer }
  | { readonly kind: 'replay'; readonly reset: boolean }
  | { readonly kind: 'exported'; readonly count: number; readonly delivered: boolean }
  /** Without its holder; gone where the copy does not hold it, and perhaps made anew. */
  | { readonly kind: 'restored'; readonly count: number; readonly delivered: boolean };

type EventAnswer = 'done' | 'lease_stale' | 'lease_not_active' | 'unknown';

export interface EventObject {
  readonly count: number;
  readonly token: string | null;
  readonly delivered: boolean;
}

/** Time is left out: a lease may always have run out. What remains is who holds the event, and how often it was given. */
export const eventModel: ObjectModel<EventObject, EventOp> = {
  initial: { count: 0, token: null, delivered: false },
  key: (state) => JSON.stringify(state),
  step(state, op) {
    const { count, token, delivered } = state;
    if (op.kind === 'restored') return { count: op.count, token: null, delivered: op.delivered };
    if (op.kind === 'exported') return op.count === count && op.delivered === delivered ? state : undefined;
    if (op.kind === 'lease') {
      if (delivered || (op.count !== 'unknown' && op.count !== count + 1)) return undefined;
      return { count: count + 1, token: op.token, delivered };
    }
    if (op.kind === 'replay')
      return delivered ? undefined : { count: op.reset ? 0 : count, token: null, delivered };
    const holds = token === op.token;
    if (op.answer === 'lease_stale') return holds ? undefined : state;
    if (!holds) return undefined;
    if (op.answer === 'lease_not_active') return delivered && op.kind === 'ack' ? undefined : state;
    if (op.kind === 'ack') return { count, token, delivered: true };
    if (delivered) return undefined;
    return op.kind === 'renew' ? state : { count, token: null, delivered };
  },
};
