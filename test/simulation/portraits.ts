import { gunzipSync } from 'node:zlib';
import type {
  CanonicalDocument,
  CanonicalOutboxEvent,
  CanonicalTenantSnapshot,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { ArchiveObjects } from './archives.ts';
import { settled } from './event-model.ts';
import { nameOf, type TenantState } from './model.ts';
import { type EventModel } from './verdict.ts';
import { must } from './violation.ts';

/** An event as a copy shows it: without a lease. */
type CopiedEvent = Omit<EventModel, 'expiry' | 'tokenHash'>;

interface CopiedDocument {
  readonly revision: number;
  readonly deleted: boolean;
  readonly dataText: string | null;
}

/** The content of a copy by the names of things; read here without the code that wrote it. */
export interface Portrait {
  readonly documents: Readonly<Record<string, CopiedDocument>>;
  readonly fences: Readonly<Record<string, string>>;
  readonly events: Readonly<Record<string, CopiedEvent>>;
  /** Idempotency key → the result, as canonical text. */
  readonly receipts: Readonly<Record<string, string>>;
}

/** The tenant as a copy of `now` must show it: expired things have expired, and no event is leased. */
export function copied(state: TenantState, now: number): TenantState {
  const events = [...state.events.values()].map((event): EventModel => {
    const current = settled(event, now);
    const open = current.state === 'leased' ? 'open' : current.state;
    return { ...current, state: open, expiry: null, tokenHash: null };
  });
  return { ...state, events: new Map(events.map((event) => [event.id, event])) };
}

export function portraitOfState(state: TenantState, now: number): Portrait {
  const { documents, fences, events, receipts } = copied(state, now);
  return {
    documents: Object.fromEntries(documents),
    fences: Object.fromEntries(fences),
    events: Object.fromEntries([...events].map(([id, event]) => [id, withoutHolder(event)])),
    receipts: Object.fromEntries([...receipts].map(([key, { result }]) => [key, result] as const)),
  };
}

function withoutHolder(event: EventModel): CopiedEvent {
  const { expiry: _, tokenHash: __, ...shown } = event;
  return shown;
}

/** The lists of the content of a copy, in either form. */
interface Lists {
  readonly documents: readonly CanonicalDocument[];
  readonly fences: CanonicalTenantSnapshot['fences'];
  readonly outbox: readonly CanonicalOutboxEvent[];
  readonly transactions: CanonicalTenantSnapshot['transactions'];
}

function portraitOfSnapshot(snapshot: CanonicalTenantSnapshot): Portrait {
  const portrait = portraitOf(snapshot);
  const listed = snapshot.revisions.map(({ documentType, id, revision }) => [documentType, id, revision]);
  const written = snapshot.transactions.flatMap(({ result }) => result.documents.map(revisionName));
  const same = canonicalJson(listed.map(text).sort()) === canonicalJson(written.map(text).sort());
  must(same, 'I14 export', 'the revisions of a snapshot are not those of its receipts');
  return portrait;
}

function portraitOfArchive(archive: ArchiveObjects): Portrait {
  const chunks = [...archive].filter(([name]) => name.endsWith('.bin')).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = chunks.map(([, content]) => gunzipSync(content).toString()).join('');
  const records = lines
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as { collection: string; value: unknown });
  const of = <T>(name: string) =>
    records.flatMap(({ collection, value }) => (collection === name ? [value as T] : []));
  return portraitOf({
    documents: of('documents'),
    fences: of('fences'),
    outbox: of('events'),
    transactions: of('commits'),
  });
}

function portraitOf({ documents, fences, outbox, transactions }: Lists): Portrait {
  checkRevisions(documents, transactions);
  return {
    documents: Object.fromEntries(
      documents.map(({ documentType, id, revision, deleted, data }) => [
        nameOf(documentType, id),
        { revision, deleted, dataText: data === null ? null : canonicalJson(data) },
      ]),
    ),
    fences: Object.fromEntries(
      fences.map(({ name, value, ownerDocumentType, ownerDocumentId }) => [
        nameOf(name, value),
        nameOf(ownerDocumentType, ownerDocumentId),
      ]),
    ),
    events: Object.fromEntries(outbox.map((event) => [event.id, copiedEvent(event)])),
    receipts: Object.fromEntries(
      transactions.map(({ idempotencyKey, result }) => [idempotencyKey, withoutReplayed(result)]),
    ),
  };
}

function copiedEvent(event: CanonicalOutboxEvent): CopiedEvent {
  const { id, topic, maxDeliveryAttempts: max, notBeforeUtc, deliveryCount: count } = event;
  must(event.leaseOwner === null && event.leaseExpiresAtUtc === null, 'I14 export', `${id} shows its lease`);
  const parked = event.deadLetteredAtUtc === null ? 'open' : 'dead';
  const state = event.deliveredAtUtc === null ? parked : 'delivered';
  return { id, topic, max, state, notBefore: notBeforeUtc === null ? null : Date.parse(notBeforeUtc), count };
}

/** The copy must hold each revision of every document once, from the first to the last. */
function checkRevisions(documents: readonly CanonicalDocument[], transactions: Lists['transactions']): void {
  const held = transactions.flatMap(({ result }) => result.documents.map(revisionName)).map(text);
  const wanted = documents.flatMap(({ documentType, id, revision }) =>
    Array.from({ length: revision }, (_, n) => text([documentType, id, n + 1])),
  );
  must(canonicalJson(held.sort()) === canonicalJson(wanted.sort()), 'I4 revisions', 'a copy has a gap');
}

function revisionName({ documentType, id, revision }: CanonicalDocument): [string, string, number] {
  return [documentType, id, revision];
}

function text(name: readonly unknown[]): string {
  return JSON.stringify(name);
}

/** A result as the receipt must keep it, whether or not it is a replay. */
export function withoutReplayed(result: CanonicalTransactionResult): string {
  return canonicalJson({ ...result, replayed: undefined });
}

const portraits = new WeakMap<object, Portrait>();

/** Reads the portrait of a copy once, and keeps it. */
export function portraitOfCopy(copy: CanonicalTenantSnapshot | ArchiveObjects): Portrait {
  const portrait =
    portraits.get(copy) ?? (copy instanceof Map ? portraitOfArchive(copy) : portraitOfSnapshot(copy));
  portraits.set(copy, portrait);
  return portrait;
}

/** The hash that names what this copy holds. */
export function contentHashOf(copy: CanonicalTenantSnapshot | ArchiveObjects): string {
  return copy instanceof Map ? copy.manifest.snapshotContentHash : copy.contentHash;
}
