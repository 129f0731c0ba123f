import type {
  CanonicalDocument,
  CanonicalDocumentQueryResult,
  CanonicalDocumentRevisionList,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import { blamedPointer, documentWrite, fenceChange } from '../simulation/histories.ts';
import type { History, Observation } from '../simulation/history.ts';
import type { ObjectModel, Observed } from '../simulation/linearizability.ts';
import {
  type DocumentOp,
  type DocumentState,
  documentModel,
  type FenceOp,
  type FenceState,
  fenceModel,
} from '../simulation/object-models.ts';

/**
 * The documents of one type and the fence named after that type: one commit may change them together. The checker sees
 * a cell as one object, so it finds a half-made commit: no order of whole commits explains that state.
 */
export interface CellState {
  readonly documents: Readonly<Record<string, DocumentState>>;
  readonly fence: FenceState;
  /** The first intent committed under each idempotency key. */
  readonly intents: Readonly<Record<string, string>>;
  /** The writes of commits without an answer; the answers of all others name the revisions that they wrote. */
  readonly doubtful: readonly string[];
}

export type CellOp =
  | {
      readonly kind: 'commit';
      readonly key: string;
      /** Requests that mean the same have the same. */
      readonly intent: string;
      readonly parts: readonly Part[];
      readonly answer: 'done' | 'replayed' | 'unknown' | 'conflict' | Refusal;
    }
  /** Several documents read at one moment. */
  | { readonly kind: 'sight'; readonly seen: readonly Seen[] };

type Commit = Extract<CellOp, { kind: 'commit' }>;

type Part =
  | { readonly of: 'document'; readonly id: string; readonly op: DocumentOp }
  | { readonly of: 'fence'; readonly op: FenceOp };

interface Refusal {
  /** The first part, in the order of the request, that could not be. */
  readonly part: number;
  /** The revision in the refusal; `undefined` without one. */
  readonly revision: number | null | undefined;
}

interface Seen {
  readonly id: string;
  readonly op: DocumentOp;
  /** The commit that the content names. */
  readonly writtenBy: string | null;
}

const UNWRITTEN = documentModel.initial;

export const cellModel: ObjectModel<CellState, CellOp> = {
  initial: { documents: {}, fence: fenceModel.initial, intents: {}, doubtful: [] },
  key: ({ documents, fence, doubtful }) => {
    const states = Object.keys(documents)
      .sort()
      .map((id) => `${id} ${documents[id]?.revision} ${documents[id]?.deleted}`);
    return JSON.stringify([states, fence.owner, doubtful]);
  },
  step(state, op) {
    if (op.kind === 'sight') return op.seen.every((seen) => isAsSeen(state, seen)) ? state : undefined;
    return commit(state, op);
  },
};

function commit(state: CellState, { key, intent, parts, answer }: Commit): CellState | undefined {
  const first = state.intents[key];
  if (answer === 'conflict') return first === undefined || first === intent ? undefined : state;
  if (answer === 'replayed') return first === intent && applyAll(state, parts) ? state : undefined;
  if (first !== undefined) return undefined;
  if (typeof answer === 'object') return isRefused(state, parts, answer) ? state : undefined;
  const after = applyAll(state, parts);
  if (after === undefined) return undefined;
  const intents = { ...state.intents, [key]: intent };
  if (answer === 'done') return { ...after, intents };
  const wrote = Object.values(after.documents).map(({ written }) => written[key] ?? 0);
  const doubtful = [...state.doubtful, `${key} ${wrote.join(' ')} ${intent}`].sort();
  return { ...after, intents, doubtful };
}

function applyAll(state: CellState, parts: readonly Part[]): CellState | undefined {
  return parts.reduce<CellState | undefined>((before, part) => before && apply(before, part), state);
}

function apply(state: CellState, part: Part): CellState | undefined {
  if (part.of === 'fence') {
    const fence = fenceModel.step(state.fence, part.op);
    return fence && { ...state, fence };
  }
  const document = documentModel.step(state.documents[part.id] ?? UNWRITTEN, part.op);
  return document && { ...state, documents: { ...state.documents, [part.id]: document } };
}

/** True when all parts before the blamed one are possible and the blamed one is not. */
function isRefused(state: CellState, parts: readonly Part[], { part: blamed, revision }: Refusal): boolean {
  const part = parts[blamed];
  if (part === undefined) throw new Error('a refusal blames what was not asked for');
  if (part.of === 'document' && revision !== undefined) {
    if ((state.documents[part.id]?.revision ?? null) !== revision) return false;
  }
  return parts.slice(0, blamed + 1).every((each) => apply(state, each) !== undefined);
}

function isAsSeen(state: CellState, { id, op, writtenBy }: Seen): boolean {
  const document = state.documents[id] ?? UNWRITTEN;
  if (documentModel.step(document, op) === undefined) return false;
  return writtenBy === null || document.written[writtenBy] === document.revision;
}

/** The documents of every cell. */
export const MEMBERS = ['a', 'b'] as const;

/** The history of each cell, by the document type that names it. */
export function cellHistories(history: History): Map<string, Observed<CellOp>[]> {
  const cells = new Map<string, Observed<CellOp>[]>();
  for (const observation of history.observations) {
    // The call had no effect and showed nothing.
    if (observation.outcome.kind === 'failed') continue;
    const [cell, operation] = readObservation(observation);
    if (operation === undefined) continue;
    const list = cells.get(cell) ?? [];
    cells.set(cell, list);
    list.push({ operation, called: observation.called, returned: observation.returned });
  }
  return cells;
}

function readObservation(observation: Observation): [cell: string, operation: CellOp | undefined] {
  if (observation.operation === 'commitCanonicalTransaction') return readCommit(observation);
  const body = observation.body as { documentType: string; id?: string; includeDeleted?: boolean };
  const seen = observation.outcome.kind === 'unknown' ? undefined : readSight(observation, body);
  return [body.documentType, seen && { kind: 'sight', seen }];
}

function readCommit({ body, outcome }: Observation): [string, CellOp] {
  const { idempotencyKey: key, mutations, fences } = body as CanonicalTransactionRequest;
  const result = outcome.kind === 'answer' ? (outcome.body as CanonicalTransactionResult) : undefined;
  const replayed = result?.replayed === true;
  const blamed = blamedPointer(outcome);
  const isBlamed = (pointer: string) => blamed?.startsWith(`${pointer}/`) === true;
  const parts: Part[] = [];
  let refusal: Refusal | undefined;
  let cell = '';
  mutations?.forEach((mutation, n) => {
    const { documentType, id } = mutation.document ?? mutation;
    cell = documentType ?? '';
    const fallback = isBlamed(`/mutations/${n}`) ? 'refused' : 'unknown';
    const answer = result?.documents[n]?.revision ?? fallback;
    if (fallback === 'refused') refusal = { part: parts.length, revision: toldRevision(outcome) };
    parts.push({ of: 'document', id: id ?? '', op: documentWrite(mutation, key, answer, replayed) });
  });
  fences?.forEach((fence, n) => {
    cell = fence.ownerDocumentType;
    const fallback = isBlamed(`/fences/${n}`) ? 'refused' : 'unknown';
    const answer = result === undefined ? fallback : replayed ? 'replayed' : 'done';
    if (fallback === 'refused') refusal = { part: parts.length, revision: undefined };
    parts.push({ of: 'fence', op: fenceChange(fence, key, answer) });
  });
  const intent = canonicalJson({ mutations, fences });
  const answer = replayed ? 'replayed' : answerOf(outcome, refusal);
  return [cell, { kind: 'commit', key, intent, parts, answer }];
}

function toldRevision(outcome: Observation['outcome']): number | null | undefined {
  if (outcome.kind !== 'refused') return undefined;
  return outcome.error.extensions['currentRevision'] as number | null | undefined;
}

function answerOf(outcome: Observation['outcome'], refusal: Refusal | undefined) {
  if (outcome.kind === 'unknown') return 'unknown';
  if (outcome.kind === 'answer') return 'done';
  if (outcome.kind === 'refused' && outcome.error.code === 'idempotency_conflict') return 'conflict';
  if (refusal !== undefined) return refusal;
  throw new Error(`a commit was refused for a reason that no commit here gives: ${JSON.stringify(outcome)}`);
}

function readSight(
  { operation, outcome }: Observation,
  { id, includeDeleted = false }: { id?: string; includeDeleted?: boolean },
): Seen[] {
  if (operation === 'queryCanonicalDocuments' && outcome.kind === 'answer') {
    const { items } = outcome.body as CanonicalDocumentQueryResult;
    return MEMBERS.map((member) =>
      seenAs(
        member,
        items.find((item) => item.id === member),
        includeDeleted,
      ),
    );
  }
  if (id === undefined) throw new Error(`${operation} did not say what it saw`);
  if (operation === 'queryCanonicalDocumentRevisions' && outcome.kind === 'answer') {
    // Tombstones are revisions too.
    return [seenAs(id, (outcome.body as CanonicalDocumentRevisionList)[0]?.document, true)];
  }
  return [
    seenAs(id, outcome.kind === 'answer' ? (outcome.body as CanonicalDocument) : undefined, includeDeleted),
  ];
}

function seenAs(id: string, document: CanonicalDocument | undefined, includeDeleted: boolean): Seen {
  if (document === undefined) return { id, op: { kind: 'read none', includeDeleted }, writtenBy: null };
  const { revision, deleted, data } = document;
  const writtenBy = (data?.['key'] ?? null) as string | null;
  return { id, op: { kind: 'read', revision, deleted }, writtenBy };
}
