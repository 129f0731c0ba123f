import { assessedClaim, type Claim, claimNumber, fate, reportedClaim } from './claims.ts';
import { progress } from './progress.ts';
import { type Service, TENANT } from './service.ts';

const CHUNK = 50;

/** The result of the import; the projection must match it exactly. */
export interface ImportSummary {
  readonly documents: number;
  readonly commits: number;
  readonly events: number;
}

/**
 * Imports the claims in chunks. Each chunk is atomic and has its own idempotency key, so an interrupted import can
 * simply run again. A fence per claim number prevents a second claim with the same number.
 */
export async function importClaims(service: Service, claims: number): Promise<ImportSummary> {
  const indexes = Array.from({ length: claims }, (_, n) => n);
  const assessed = indexes.filter((n) => fate(n) === 'assessed');
  const withdrawn = indexes.filter((n) => fate(n) === 'withdrawn');
  const reports = await commitChunks(service, 'importing claims', indexes, (n) => report(reportedClaim(n)));
  const assessments = await commitChunks(service, 'assessing claims', assessed, (n) =>
    assess(assessedClaim(n)),
  );
  const withdrawals = await commitChunks(service, 'withdrawing claims', withdrawn, withdraw);
  return {
    documents: claims,
    commits: reports + assessments + withdrawals,
    events: claims + assessed.length + withdrawn.length,
  };
}

interface Change {
  readonly mutation: object;
  readonly fence?: object;
  readonly event: object;
}

async function commitChunks(
  service: Service,
  label: string,
  indexes: readonly number[],
  change: (index: number) => Change,
): Promise<number> {
  const show = progress(label, indexes.length);
  let commits = 0;
  for (let at = 0; at < indexes.length; at += CHUNK) {
    const changes = indexes.slice(at, at + CHUNK).map(change);
    await service.commit({
      idempotencyKey: `${label}-${at / CHUNK}`,
      actor: 'claims-import',
      mutations: changes.map((c) => c.mutation),
      fences: changes.flatMap((c) => (c.fence === undefined ? [] : [c.fence])),
      outbox: changes.map((c) => c.event),
    });
    commits++;
    show(Math.min(at + CHUNK, indexes.length));
  }
  return commits;
}

function report(claim: Claim): Change {
  return {
    mutation: { operation: 'upsert', document: document(claim), precondition: { mustNotExist: true } },
    fence: {
      operation: 'claim',
      name: 'claim-number',
      value: claim.claimNumber,
      ownerDocumentType: 'claim',
      ownerDocumentId: claim.claimNumber,
    },
    event: event('claim.reported', claim.claimNumber, 1, claim.status, claim.reserveCents),
  };
}

function assess(claim: Claim): Change {
  return {
    mutation: { operation: 'upsert', document: document(claim), precondition: { expectedRevision: 1 } },
    event: event('claim.assessed', claim.claimNumber, 2, claim.status, claim.reserveCents),
  };
}

function withdraw(index: number): Change {
  const id = claimNumber(index);
  return {
    mutation: { operation: 'delete', documentType: 'claim', id, precondition: { expectedRevision: 1 } },
    event: event('claim.withdrawn', id, 2, 'withdrawn', 0),
  };
}

function document(claim: Claim): object {
  const { claimNumber: id, status, kind, reportedOn, reserveCents } = claim;
  return {
    tenantId: TENANT,
    documentType: 'claim',
    id,
    schemaVersion: '1',
    data: claim,
    // Amounts are padded, so that they sort as text like numbers.
    indexes: { status, kind, reportedOn, reserveCents: String(reserveCents).padStart(12, '0') },
  };
}

function event(topic: string, key: string, revision: number, status: string, reserveCents: number): object {
  return {
    topic,
    key,
    payload: { claimNumber: key, revision, status, reserveCents },
    maxDeliveryAttempts: 20,
  };
}
