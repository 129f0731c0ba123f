import type {
  CanonicalDocument,
  CanonicalDocumentQuery,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import type { Pair, Sighting } from './chronicle.ts';
import { ITEM, MARKERS, SLOT } from './eras.ts';

/** The words in which writers and readers speak of the tenant, and how answers are read. */

const WRITER = /^w(\d+)-(left|right)$/;
export const LEFT = (writer: number): string => `w${writer}-left`;
const RIGHT = (writer: number): string => `w${writer}-right`;

/** The second effect of a commit: it takes a slot that others want as well, or gives it back. */
export interface SlotChange {
  readonly slot: string;
  readonly action: 'claim' | 'release';
}

/** Two documents that always have the same content, their event, and a fence whose changes a document records. */
export function commitOf(
  tenantId: string,
  writer: number,
  n: number,
  change: SlotChange | null,
): CanonicalTransactionRequest {
  const upsert = (documentType: string, id: string, data: object, indexes = {}) => ({
    operation: 'upsert' as const,
    document: { tenantId, documentType, id, schemaVersion: '1', data: { ...data }, indexes },
  });
  const owner = { ownerDocumentType: ITEM, ownerDocumentId: LEFT(writer) };
  return {
    idempotencyKey: `w${writer}-${n}${change === null ? '' : `-${change.action}`}`,
    mutations: [
      ...[LEFT(writer), RIGHT(writer)].map((id) =>
        upsert(ITEM, id, { n }, { place: id, writer: `${writer}` }),
      ),
      ...(change === null ? [] : [upsert(SLOT, change.slot, { by: writer, action: change.action })]),
    ],
    fences: change === null ? [] : [{ operation: change.action, name: SLOT, value: change.slot, ...owner }],
    outbox: [{ topic: 'pair', key: `${writer}`, payload: { n } }],
  };
}

/** Questions that are answered by all markers and pairs at one moment, each by another way to the records. */
export const VIEWS: readonly CanonicalDocumentQuery[] = [
  { documentType: ITEM, limit: 1_000 },
  { documentType: ITEM, limit: 1_000, orderByIndex: 'place' },
  { documentType: ITEM, limit: 1_000, indexRange: { name: 'place', greaterThanOrEqual: 'm' } },
];

export type Seen = Pick<Sighting, 'era' | 'pairs' | 'whole'> & { readonly faults: readonly string[] };

/**
 * Reads the answer to one of the views. With `tears` the two documents of a writer may be one commit apart: the official
 * Firestore emulator writes the documents of a commit one by one, and a query may come in between.
 * After a restore it may show one document alone of the first commit of a writer.
 */
export function readView(items: readonly CanonicalDocument[], tears = false): Seen {
  const faults: string[] = [];
  const sides = new Map<number, { left?: Pair; right?: Pair }>();
  const eras = new Set<number>();
  let markers = 0;
  for (const { id, data, revision } of items) {
    const [, writer, side] = WRITER.exec(id) ?? [];
    if (writer === undefined) {
      eras.add(Number(data?.['era']));
      markers += 1;
    } else {
      const both = sides.get(Number(writer)) ?? {};
      sides.set(Number(writer), { ...both, [side ?? '']: { n: Number(data?.['n']), revision } });
    }
  }
  if (eras.size !== 1 || markers !== MARKERS)
    faults.push(`${markers} markers of the eras [${[...eras].join()}]`);
  const pairs = new Map<number, Pair>();
  for (const [writer, { left, right }] of sides) {
    const older = agreed(left, right, tears);
    if (older !== undefined) pairs.set(writer, older);
    else if (tears && isHalfOfFirst(left, right)) continue;
    else faults.push(`writer ${writer} is torn: ${JSON.stringify({ left, right })}`);
  }
  const [era = null] = eras;
  return { era: eras.size === 1 ? era : null, pairs, whole: true, faults };
}

/** The commit that both documents show, or the older of the two; `undefined` where they are of two commits. */
function agreed(left: Pair | undefined, right: Pair | undefined, tears: boolean): Pair | undefined {
  if (left === undefined || right === undefined) return undefined;
  const apart = Math.abs(left.n - right.n);
  const sameLine = left.n - left.revision === right.n - right.revision;
  if (!sameLine || apart > (tears ? 1 : 0)) return undefined;
  return left.n < right.n ? left : right;
}

/** The older state of a pair whose first commit was met half-way is that it is not there. */
function isHalfOfFirst(left: Pair | undefined, right: Pair | undefined): boolean {
  return (left === undefined || right === undefined) && (left ?? right)?.revision === 1;
}

/** Reads the markers of one era: an answer shows all of them, or none. */
export function readMarkers(era: number, items: readonly CanonicalDocument[]): Seen {
  const none = { pairs: new Map<number, Pair>(), whole: false };
  if (items.length === 0) return { ...none, era: null, faults: [] };
  const faults = items.length === MARKERS ? [] : [`${items.length} of ${MARKERS} markers of era ${era}`];
  return { ...none, era, faults };
}
