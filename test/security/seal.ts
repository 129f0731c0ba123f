import { hash } from 'node:crypto';
import type { CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';

/**
 * The hash of a snapshot's content by the decision on the format, written independently of the code that computes it: an
 * attacker with a snapshot of their own can do as much.
 */

interface Line {
  readonly collection: string;
  readonly id: string;
  readonly value: object;
}

/** The bytes that the hash is of. Throws where the content has no canonical form. */
export function contentOf(snapshot: CanonicalTenantSnapshot): string {
  const { tenantId, documents, fences, outbox, transactions } = snapshot;
  const moments = new Map(transactions.map((receipt) => [receipt.transactionId, receipt.committedAtUtc]));
  const lines: Line[] = [
    ...transactions.map((value) => ({ collection: 'commits', id: idOf(value.idempotencyKey), value })),
    ...documents.map((value) => ({
      collection: 'documents',
      id: idOf(value.documentType, value.id),
      value,
    })),
    ...outbox.map((event) => {
      // A lease is no content, and the order of events is that of their commits.
      const moment = { createdAtUtc: moments.get(event.transactionId) };
      const value = { ...event, ...moment, leaseOwner: null, leaseExpiresAtUtc: null };
      return { collection: 'events', id: idOf(event.id), value };
    }),
    ...fences.map((value) => ({ collection: 'fences', id: idOf(value.name, value.value), value })),
  ];
  const named = lines.map((line) => ({ name: `${line.collection} ${line.id}`, text: canonicalJson(line) }));
  named.sort((left, right) => (left.name < right.name ? -1 : 1));
  const head = canonicalJson({ format: 'svc.canonical.snapshot', tenantId, version: 1 });
  return [head, ...named.map(({ text }) => text), ''].join('\n');
}

function idOf(...parts: readonly string[]): string {
  return hash('sha256', canonicalJson(parts), 'hex').slice(0, 32);
}

/** The snapshot under the hash of what it holds now. */
export function resealed(snapshot: CanonicalTenantSnapshot): CanonicalTenantSnapshot {
  return { ...snapshot, contentHash: sha256(contentOf(snapshot)) };
}

/** The snapshot of a tenant without any writes. */
export function emptySnapshot(tenantId: string): CanonicalTenantSnapshot {
  return resealed({
    tenantId,
    documents: [],
    revisions: [],
    fences: [],
    outbox: [],
    transactions: [],
    exportedAtUtc: '2026-01-02T03:04:05.000Z',
    contentHash: '',
  });
}
