import { limits } from '../../../../../contracts/generated/limits.ts';
import type {
  CanonicalDocument,
  CanonicalDocumentRevision,
  CanonicalOutboxEvent,
} from '../../../../../contracts/generated/models.ts';
import {
  hashText,
  list,
  members,
  moment,
  name,
  nullOr,
  plainJson,
  same,
} from '../../../../archives/checks.ts';
import { compareKeys } from '../../../../archives/line-reader.ts';
import { inSnapshotWords, SnapshotError } from '../../../../archives/snapshot-error.ts';
import type { Json } from '../../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../../kernel/errors.ts';
import { mappedInSteps, sortedInSteps } from '../../../../kernel/sorted-in-steps.ts';
import { formatUtc } from '../../../../kernel/timestamp.ts';
import { inTurns, type Turns, UNDISTURBED } from '../../../../kernel/turns.ts';
import { type RecordData, StoreError } from '../../../../store/port.ts';
import { sameJson } from './canonical-text.ts';
import {
  type ExportMoment,
  lineLimits,
  type RecordPages,
  recordLineInSteps,
  SnapshotTally,
  snapshotHeadLine,
  snapshotLines,
} from './lines.ts';
import {
  checkedValue,
  type EventValue,
  keyOf,
  recordOf,
  revisionsOf,
  type SnapshotValue,
} from './record-values.ts';
import { checkedEvent, type FenceValue, type ReceiptValue, sameTenant } from './values.ts';

/**
 * The most bytes of lines in one JSON snapshot. An archive has no such limit.
 * @testonly
 */
export const SNAPSHOT_BYTES_MAX: number = limits.snapshotBytesMax;

/** A tenant as one JSON value: the content of its lines as lists, with the same hash. */
export interface TenantSnapshot {
  readonly tenantId: string;
  readonly documents: readonly CanonicalDocument[];
  readonly revisions: readonly CanonicalDocumentRevision[];
  readonly fences: readonly FenceValue[];
  readonly outbox: readonly CanonicalOutboxEvent[];
  readonly transactions: readonly ReceiptValue[];
  readonly exportedAtUtc: string;
  readonly contentHash: string;
}

/** Checked records for a swap. */
export interface SnapshotContent {
  /** The records in the order of their keys. Each is built on demand. */
  readonly records: Iterable<RecordData>;
  readonly contentHash: string;
}

/** Makes the snapshot of a tenant in a store. Throws `too_large` as soon as it has read more than 64 MiB. */
export async function makeSnapshot(
  tenantId: string,
  pages: RecordPages,
  exported: ExportMoment & { readonly turns?: Turns },
  bytesMax = SNAPSHOT_BYTES_MAX,
): Promise<TenantSnapshot> {
  const tally = new SnapshotTally();
  const { turns = UNDISTURBED } = exported;
  const lists = new Lists();
  for await (const line of snapshotLines(tenantId, pages, exported)) {
    await tally.addInTurns(line, turns);
    checkSize(tally, bytesMax);
    if (line.entry !== null) lists.add(line.entry);
    if (turns.due()) await turns.next();
  }
  const sorted = <T>(items: readonly T[], nameParts: Parameters<typeof inOrder<T>>[1]) =>
    inTurns(inOrder(items, nameParts), turns);
  return {
    tenantId,
    documents: await sorted(lists.documents, (d) => [d.documentType, d.id]),
    revisions: await sorted(lists.revisions, (r) => [r.documentType, r.id, r.revision]),
    fences: await sorted(lists.fences, (f) => [f.name, f.value]),
    outbox: await sorted(await inTurns(lists.eventsInSteps(), turns), (e) => [e.id]),
    transactions: await sorted(lists.transactions, (t) => [t.transactionId]),
    exportedAtUtc: formatUtc(exported.now),
    contentHash: tally.contentHash(),
  };
}

/** Collects the content of a snapshot record by record, because one turn is too short for all records of a tenant. */
class Lists {
  readonly documents: CanonicalDocument[] = [];
  readonly revisions: CanonicalDocumentRevision[] = [];
  readonly fences: FenceValue[] = [];
  readonly transactions: ReceiptValue[] = [];
  readonly #events: EventValue[] = [];
  readonly #commitMoments = new Map<string, string>();

  add({ collection, value }: SnapshotValue): void {
    if (collection === 'documents') this.documents.push(value);
    else if (collection === 'fences') this.fences.push(value);
    else if (collection === 'events') this.#events.push(value);
    else {
      this.transactions.push(value);
      this.revisions.push(...revisionsOf(value));
      this.#commitMoments.set(value.transactionId, value.committedAtUtc);
    }
  }

  eventsInSteps(): Generator<void, CanonicalOutboxEvent[]> {
    return mappedInSteps(this.#events, ({ createdAtUtc, ...event }) => {
      // The lists do not hold the time of an event, so a restore needs the receipt to compute the hash.
      if (this.#commitMoments.get(event.transactionId) !== createdAtUtc)
        throw new StoreError('corrupt', 'an event does not belong to a receipt');
      return event;
    });
  }
}

const MEMBERS = [
  'tenantId',
  'documents',
  'revisions',
  'fences',
  'outbox',
  'transactions',
  'exportedAtUtc',
  'contentHash',
] as const;

/**
 * Converts a snapshot of the tenant to records. Checks its shape, its size, its hash, and its documents against its revisions. The
 * hash must be the one in the snapshot, and `expectedContentHash` if that is given. Does not change `snapshot`.
 *
 * Throws a `SnapshotError` with the place in the snapshot.
 */
export function readSnapshot(
  tenantId: string,
  snapshot: unknown,
  expectedContentHash: string | null = null,
  bytesMax = SNAPSHOT_BYTES_MAX,
): SnapshotContent {
  const reading = readingOf(tenantId, snapshot, expectedContentHash, bytesMax);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}

/** Does the same as `readSnapshot`, with turns for other calls between the items. */
export async function readSnapshotInTurns(
  tenantId: string,
  snapshot: unknown,
  expectedContentHash: string | null,
  turns: Turns,
): Promise<SnapshotContent> {
  const reading = readingOf(tenantId, snapshot, expectedContentHash, SNAPSHOT_BYTES_MAX);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
    if (turns.due()) await turns.next();
  }
}

/** Pauses after each item, so that the caller can give other work a turn. */
type Reading<T> = Generator<void, T, undefined>;

function* readingOf(
  tenantId: string,
  snapshot: unknown,
  expectedContentHash: string | null,
  bytesMax: number,
): Reading<SnapshotContent> {
  const { entries, contentHash: given } = yield* placedReading(checkedEntries(tenantId, snapshot));
  const named = yield* mappedInSteps(entries, (entry) => ({ entry, key: keyOf(entry) }));
  const keyed = yield* sortedInSteps(named, (left, right) => compareKeys(left.key, right.key));
  const tally = new SnapshotTally();
  tally.add({ line: snapshotHeadLine(tenantId), entry: null });
  for (const { entry } of keyed) {
    tally.add({ line: yield* recordLineInSteps(entry), entry });
    checkSize(tally, bytesMax);
    yield;
  }
  const contentHash = tally.contentHash();
  if (contentHash !== given) {
    const pointer = '/contentHash';
    throw new SnapshotError('hash_mismatch', 'the content is not the one that its hash names', { pointer });
  }
  if (contentHash !== (expectedContentHash ?? given)) {
    throw new SnapshotError('hash_mismatch', 'the content is whole, and is not the one that was expected');
  }
  // Check this after the hash, so that accidental damage is reported as a wrong hash.
  yield* placedReading(checkDocuments(ofKind(entries, 'documents'), ofKind(entries, 'commits')));
  return { records: { [Symbol.iterator]: () => recordsOf(keyed) }, contentHash };
}

function* placedReading<T>(reading: Reading<T>): Reading<T> {
  try {
    return yield* reading;
  } catch (error) {
    throw inSnapshotWords(error, {});
  }
}

function* recordsOf(
  keyed: readonly { readonly entry: SnapshotValue }[],
): Generator<RecordData, void, undefined> {
  for (const { entry } of keyed) yield recordOf(entry);
}

function* checkedEntries(tenantId: string, snapshot: unknown) {
  yield* plainSnapshot(snapshot);
  const given = members(snapshot, MEMBERS, '');
  sameTenant(given.tenantId, tenantId, '/tenantId');
  const read = function* <C extends SnapshotValue['collection']>(
    collection: C,
    member: 'documents' | 'fences' | 'transactions',
  ): Reading<Extract<SnapshotValue, { collection: C }>[]> {
    return yield* eachItem(list(given[member], Number.MAX_SAFE_INTEGER, `/${member}`), (value, n) => {
      const checked = checkedValue(tenantId, collection, value, `/${member}/${n}`);
      return checked as Extract<SnapshotValue, { collection: C }>;
    });
  };
  const receipts = yield* read('commits', 'transactions');
  const documents = yield* read('documents', 'documents');
  const fences = yield* read('fences', 'fences');
  const moments = momentsOf(receipts.map(({ value }) => value));
  const outbox = list(given.outbox, Number.MAX_SAFE_INTEGER, '/outbox');
  const events = yield* eachItem(outbox, (value, n): SnapshotValue => {
    const event = checkedEvent(tenantId, withoutLease(value, `/outbox/${n}`), `/outbox/${n}`);
    const createdAtUtc = moments.get(event.transactionId);
    if (createdAtUtc === undefined) {
      throw invalidMember(
        `/outbox/${n}/transactionId`,
        'must be the transactionId of a transaction in the snapshot',
      );
    }
    return { collection: 'events', value: { ...event, createdAtUtc } };
  });
  refuseRepeated(receipts, '/transactions');
  refuseRepeated(documents, '/documents');
  refuseRepeated(fences, '/fences');
  refuseRepeated(events, '/outbox');
  yield* checkRevisions(
    receipts.map(({ value }) => value),
    given.revisions,
  );
  moment(given.exportedAtUtc, '/exportedAtUtc');
  const contentHash = hashText(given.contentHash, '/contentHash');
  return { entries: [...receipts, ...documents, ...fences, ...events], contentHash };
}

/** Refuses values that are no JSON, item by item. */
function* plainSnapshot(snapshot: unknown): Reading<void> {
  const { depthMax } = lineLimits;
  if (typeof snapshot !== 'object' || snapshot === null || Array.isArray(snapshot)) {
    plainJson(snapshot, depthMax);
    return;
  }
  const lists = Object.entries(snapshot).filter(([, value]) => Array.isArray(value));
  plainJson({ ...snapshot, ...Object.fromEntries(lists.map(([member]) => [member, null])) }, depthMax);
  for (const [, items] of lists) yield* eachItem(items as unknown[], (item) => plainJson(item, depthMax - 2));
}

function* eachItem<T>(items: readonly unknown[], read: (item: unknown, place: number) => T): Reading<T[]> {
  const found: T[] = [];
  for (const [place, item] of items.entries()) {
    found.push(read(item, place));
    yield;
  }
  return found;
}

/** A restored event has no lease, because a lease is no content. */
function withoutLease(value: unknown, pointer: string): unknown {
  if (typeof value !== 'object' || value === null || !('leaseOwner' in value)) return value;
  nullOr(name, value.leaseOwner, `${pointer}/leaseOwner`);
  if ('leaseExpiresAtUtc' in value) nullOr(moment, value.leaseExpiresAtUtc, `${pointer}/leaseExpiresAtUtc`);
  const cleared = 'leaseExpiresAtUtc' in value ? { leaseExpiresAtUtc: null } : {};
  return { ...value, leaseOwner: null, ...cleared };
}

function refuseRepeated(entries: readonly SnapshotValue[], pointer: string): void {
  const seen = new Set<string>();
  entries.forEach((entry, n) => {
    const { id } = keyOf(entry);
    if (seen.has(id)) throw invalidMember(`${pointer}/${n}`, 'occurs twice', 'duplicate_in_request');
    seen.add(id);
  });
}

/**
 * The list of revisions must equal the revisions in the receipts, because the store keeps each revision with its commit: it cannot
 * store a revision without a receipt, nor leave one out.
 */
function* checkRevisions(receipts: readonly ReceiptValue[], given: unknown): Reading<void> {
  const held = new Map<string, CanonicalDocumentRevision>();
  receipts.forEach((receipt, n) => {
    for (const revision of revisionsOf(receipt)) {
      const named = nameOf(revision.documentType, revision.id, revision.revision);
      if (held.has(named)) {
        const detail = 'holds a revision that another transaction holds';
        throw invalidMember(`/transactions/${n}`, detail, 'duplicate_in_request');
      }
      held.set(named, revision);
    }
  });
  const seen = new Set<string>();
  yield* eachItem(list(given, Number.MAX_SAFE_INTEGER, '/revisions'), (value, n) => {
    const pointer = `/revisions/${n}`;
    if (typeof value !== 'object' || value === null) throw invalidMember(pointer, 'must be an object');
    const { documentType, id, revision } = value as Partial<CanonicalDocumentRevision>;
    const named = nameOf(documentType, id, revision);
    if (seen.has(named)) throw invalidMember(pointer, 'occurs twice', 'duplicate_in_request');
    seen.add(named);
    const isHeld = sameJson(value as Json, held.get(named) ?? null);
    same(isHeld, true, 'as its transaction holds it', pointer);
  });
  if (seen.size !== held.size) {
    throw new ServiceError('validation_failed', 'a revision that a transaction holds is missing', {
      errors: [{ pointer: '/revisions', detail: 'lacks a revision that a transaction holds' }],
    });
  }
}

/**
 * A document must be at its last revision, and the revisions must be numbered from 1 without a gap. Otherwise the next write could
 * take a number that exists.
 */
function* checkDocuments(
  documents: readonly CanonicalDocument[],
  receipts: readonly ReceiptValue[],
): Reading<void> {
  const held = new Map<string, { count: number; last: CanonicalDocument }>();
  for (const document of receipts.flatMap(({ result }) => result.documents)) {
    const named = nameOf(document.documentType, document.id);
    const { count, last } = held.get(named) ?? { count: 0, last: document };
    held.set(named, { count: count + 1, last: document.revision > last.revision ? document : last });
  }
  yield* eachItem(documents, (item, n) => {
    const document = item as CanonicalDocument;
    const { documentType, id, revision } = document;
    const of = held.get(nameOf(documentType, id));
    const whole = revision === of?.count && revision === of.last.revision;
    same(whole, true, 'the last of its revisions, of which none is missing', `/documents/${n}/revision`);
    const equal = sameJson(document, of?.last as unknown as Json);
    same(equal, true, 'as the transaction of its revision holds it', `/documents/${n}`);
  });
  if (documents.length !== held.size) {
    throw invalidMember('/documents', 'lacks a document although a transaction holds a revision of it');
  }
}

function nameOf(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

function momentsOf(receipts: readonly ReceiptValue[]): Map<string, string> {
  return new Map(receipts.map(({ transactionId, committedAtUtc }) => [transactionId, committedAtUtc]));
}

function checkSize(tally: SnapshotTally, bytesMax: number): void {
  if (tally.bytes <= bytesMax) return;
  throw new SnapshotError('too_large', `a JSON snapshot holds at most ${bytesMax} bytes; use an archive`);
}

type ValueOf<C extends SnapshotValue['collection']> = Extract<SnapshotValue, { collection: C }>['value'];

function ofKind<C extends SnapshotValue['collection']>(
  entries: readonly SnapshotValue[],
  kind: C,
): ValueOf<C>[] {
  return entries.flatMap(({ collection, value }) => (collection === kind ? [value as ValueOf<C>] : []));
}

/** Sorts by the parts of the name. Texts compare by UTF-16 code units, as in canonical JSON. */
function* inOrder<T>(
  items: readonly T[],
  nameParts: (item: T) => readonly (string | number)[],
): Generator<void, T[]> {
  const named = yield* mappedInSteps(items, (item) => ({ item, name: nameParts(item) }));
  const sorted = yield* sortedInSteps(named, (left, right) => {
    for (const [n, part] of left.name.entries()) {
      const other = right.name[n] ?? '';
      if (part !== other) return part < other ? -1 : 1;
    }
    return 0;
  });
  return yield* mappedInSteps(sorted, ({ item }) => item);
}
