import type {
  CanonicalDocument,
  CanonicalOutboxEvent,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { Attempt, TenantLog } from './kill-loop-log.ts';

/**
 * Whether a tenant as of one moment is possible by the log of its clients. Every fact of the tenant is compared with the
 * receipts, and every receipt with the sent request. This shows a commit with a missing part, and a commit that no client
 * sent.
 */
export function commitFaults(log: TenantLog, snapshot: TenantSnapshot, step: number): string[] {
  const receipts = new Map(snapshot.transactions.map((receipt) => [receipt.idempotencyKey, receipt.result]));
  const faults: string[] = [];
  for (const attempt of log.attempts.values()) {
    const result = receipts.get(attempt.key);
    if (attempt.acknowledgedAt <= step && result === undefined) {
      faults.push(`the acknowledged commit ${attempt.key} is lost`);
    }
    if (attempt.fate === 'refused' && result !== undefined) {
      faults.push(`the refused commit ${attempt.key} was made`);
    }
    if (attempt.result !== undefined && result !== undefined && !same(attempt.result, result)) {
      faults.push(`the receipt of ${attempt.key} is not what was answered`);
    }
  }
  for (const [key, result] of receipts) {
    const attempt = log.attempts.get(key);
    if (attempt === undefined) faults.push(`no client sent the commit ${key}`);
    else if (!isWhole(attempt, result)) faults.push(`the receipt of ${key} holds a part of its request`);
  }
  const results = [...receipts.values()];
  return [
    ...faults,
    ...documentFaults(snapshot, results),
    ...fenceFaults(log, snapshot, results),
    ...eventFaults(snapshot, results),
  ];
}

function isWhole({ body }: Attempt, result: CanonicalTransactionResult): boolean {
  const asked = (body.mutations ?? []).map((mutation) => ({
    name: nameOf(mutation.document ?? mutation),
    data: mutation.document?.data ?? null,
  }));
  const written = result.documents.map((document) => ({ name: nameOf(document), data: document.data }));
  const payloads = (body.outbox ?? []).map(({ payload }) => payload ?? null);
  return (
    same(asked, written) &&
    same(
      payloads,
      result.outbox.map(({ payload }) => payload),
    )
  );
}

/** Revisions are 1 to n, each once, and the document is the last of them. */
function documentFaults(snapshot: TenantSnapshot, results: readonly CanonicalTransactionResult[]): string[] {
  const faults: string[] = [];
  const lines = new Map<string, Map<number, CanonicalDocument>>();
  for (const document of results.flatMap(({ documents }) => documents)) {
    const line = lines.get(nameOf(document)) ?? new Map<number, CanonicalDocument>();
    if (line.has(document.revision)) {
      faults.push(`${nameOf(document)} has two revisions ${document.revision}`);
    }
    lines.set(nameOf(document), line.set(document.revision, document));
  }
  const current = new Map(snapshot.documents.map((document) => [nameOf(document), document]));
  for (const name of current.keys()) {
    if (!lines.has(name)) faults.push(`no commit wrote the document ${name}`);
  }
  for (const [name, line] of lines) {
    const last = line.get(line.size);
    if (last === undefined)
      faults.push(`${name} has ${line.size} revisions, which are not 1 to ${line.size}`);
    else if (!same(current.get(name) ?? null, last))
      faults.push(`${name} is not what its last revision says`);
  }
  const listed = snapshot.revisions.map(
    ({ documentType, id, revision }) => `${documentType}/${id}/${revision}`,
  );
  const made = [...lines].flatMap(([name, line]) =>
    [...line.keys()].map((revision) => `${name}/${revision}`),
  );
  if (!same(listed.sort(), made.sort())) faults.push('the list of revisions is not what the commits wrote');
  return faults;
}

/**
 * A fence of the name `key` is claimed by its commit alone. One of the name `seat` changes hands, always in a commit that
 * writes the document of the same name, whose revisions give the order.
 */
function fenceFaults(
  log: TenantLog,
  snapshot: TenantSnapshot,
  results: readonly CanonicalTransactionResult[],
): string[] {
  const owners = new Map<string, string>();
  const turns: { readonly seat: string; readonly revision: number; readonly owner: string | null }[] = [];
  for (const { idempotencyKey, documents } of results) {
    for (const fence of log.attempts.get(idempotencyKey)?.body.fences ?? []) {
      const seat = documents.find(({ documentType, id }) => documentType === 'seat' && id === fence.value);
      if (fence.name !== 'seat' || seat === undefined) {
        owners.set(`${fence.name}/${fence.value}`, fence.ownerDocumentId);
      } else {
        const owner = fence.operation === 'release' ? null : fence.ownerDocumentId;
        turns.push({ seat: `seat/${fence.value}`, revision: seat.revision, owner });
      }
    }
  }
  for (const { seat, owner } of turns.sort((left, right) => left.revision - right.revision)) {
    if (owner === null) owners.delete(seat);
    else owners.set(seat, owner);
  }
  const stored = new Map(
    snapshot.fences.map((fence) => [`${fence.name}/${fence.value}`, fence.ownerDocumentId]),
  );
  const faults: string[] = [];
  for (const name of new Set([...owners.keys(), ...stored.keys()])) {
    if (owners.get(name) === stored.get(name)) continue;
    faults.push(`the fence ${name} is held by ${stored.get(name)}, not by ${owners.get(name)}`);
  }
  return faults;
}

/** Every committed event exists, and no other. */
function eventFaults(snapshot: TenantSnapshot, results: readonly CanonicalTransactionResult[]): string[] {
  const written = new Map(results.flatMap(({ outbox }) => outbox.map((event) => [event.id, event])));
  const faults: string[] = [];
  const found = new Set<string>();
  for (const event of snapshot.outbox) {
    found.add(event.id);
    const first = written.get(event.id);
    if (first === undefined) faults.push(`no commit wrote the event ${event.id}`);
    else if (!same(contentOf(first), contentOf(event))) faults.push(`the event ${event.id} has changed`);
  }
  for (const id of written.keys()) if (!found.has(id)) faults.push(`the event ${id} is lost`);
  return faults;
}

function contentOf(event: CanonicalOutboxEvent) {
  const { id, transactionId, topic, key, payload, headers, maxDeliveryAttempts } = event;
  return { id, transactionId, topic, key, payload, headers, maxDeliveryAttempts };
}

function nameOf(document: { readonly documentType?: string | null; readonly id?: string | null }): string {
  return `${document.documentType}/${document.id}`;
}

export function same(left: unknown, right: unknown): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

/** Whether the idle outbox agrees with the answers that its consumers got. */
export function leaseFaults(log: TenantLog, snapshot: TenantSnapshot): string[] {
  const faults: string[] = [];
  const events = new Map(snapshot.outbox.map((event) => [event.id, event]));
  for (const hold of log.holds) {
    const event = events.get(hold.eventId);
    if (event !== undefined && event.deliveryCount < hold.count) {
      faults.push(`delivery ${hold.count} of ${hold.eventId} was given and is forgotten`);
    }
  }
  const acks = new Map<string, Set<string>>();
  for (const { kind, hold, outcome } of log.calls) {
    if (kind !== 'ack' || outcome === 'refused') continue;
    acks.set(hold.eventId, (acks.get(hold.eventId) ?? new Set()).add(outcome));
  }
  for (const [id, event] of events) {
    const outcomes = acks.get(id) ?? new Set();
    if (event.deliveredAtUtc !== null && outcomes.size === 0) {
      faults.push(`${id} is delivered, although no consumer acknowledged it`);
    }
    if (event.deliveredAtUtc === null && outcomes.has('accepted')) {
      faults.push(`the acknowledgement of ${id} is lost`);
    }
  }
  return [...faults, ...holdFaults(log)];
}

/** The contradictions between the leases of one event. */
function holdFaults(log: TenantLog): string[] {
  const faults: string[] = [];
  const byEvent = Map.groupBy(log.holds, ({ eventId }) => eventId);
  const callsOf = Map.groupBy(log.calls, ({ hold }) => hold);
  for (const [eventId, holds] of byEvent) {
    const times = holds.map((hold) => {
      const ends = (callsOf.get(hold) ?? []).filter(({ kind }) => kind !== 'renew');
      return { hold, from: hold.at, to: Math.min(hold.expiresAt, ...ends.map(({ sentAt }) => sentAt)) };
    });
    for (const [n, { hold, from, to }] of times.entries()) {
      for (const other of times.slice(n + 1)) {
        if (other.hold.count === hold.count) {
          faults.push(`delivery ${hold.count} of ${eventId} was given twice`);
        }
        // A lease that was over before its answer came was never held.
        if (from < to && other.from < other.to && from < other.to && other.from < to) {
          faults.push(`${eventId} was held by two`);
        }
      }
      const stale = (callsOf.get(hold) ?? []).some(
        ({ outcome, sentStep }) =>
          outcome === 'accepted' && holds.some((later) => later.count > hold.count && later.step <= sentStep),
      );
      if (stale) faults.push(`a replaced token of ${eventId} was accepted`);
    }
  }
  return faults;
}
