import { limits } from '../../../../contracts/generated/limits.ts';
import type { CanonicalTransactionRequest } from '../../../../contracts/generated/models.ts';
import { CanonicalText, canonicalJson, sha256 } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import { identifier, optionalIdentifier } from '../../../kernel/identifiers.ts';
import { type OutboxWrite, readOutboxWrite } from '../outbox/outbox-request.ts';
import { type FenceMutation, readFenceMutation } from './fence-request.ts';
import { type Mutation, readMutation } from './mutation-request.ts';

/** A transaction request with every default filled in, every identifier trimmed and every limit checked. */
export interface CommitRequest {
  readonly tenantId: string;
  readonly idempotencyKey: string;
  readonly correlationId: string | null;
  readonly actor: string | null;
  readonly mutations: readonly Mutation[];
  readonly fences: readonly FenceMutation[];
  readonly outbox: readonly OutboxWrite[];
}

/**
 * Checks the rules that the JSON Schema cannot express, and fills in defaults.
 *
 * Throws `validation_failed`, `limit_exceeded`, `tenant_mismatch`, `duplicate_in_request` or `commit_too_large`, each
 * naming the member. In steps: documents and payloads of 3 MiB may hold more than a million values.
 */
export function* readCommitRequest(
  tenantId: string,
  request: CanonicalTransactionRequest,
): Generator<void, CommitRequest> {
  const mutations: Mutation[] = [];
  for (const [n, m] of (request.mutations ?? []).entries())
    mutations.push(yield* readMutation(tenantId, m, `/mutations/${n}`));
  const fences = (request.fences ?? []).map((f, n) => readFenceMutation(f, `/fences/${n}`));
  const outbox: OutboxWrite[] = [];
  for (const [n, w] of (request.outbox ?? []).entries())
    outbox.push(yield* readOutboxWrite(w, `/outbox/${n}`));
  if (mutations.length + fences.length + outbox.length === 0) {
    throw invalidMember('', 'a transaction holds at least one mutation, fence or outbox event');
  }
  refuseRepeats(mutations, '/mutations', 'document', (m) => [m.documentType, m.id]);
  refuseRepeats(fences, '/fences', 'fence', (f) => [f.name, f.value]);
  checkTotal(mutations, outbox);
  return {
    tenantId,
    idempotencyKey: identifier(request.idempotencyKey, '/idempotencyKey'),
    correlationId: optionalIdentifier(request.correlationId, '/correlationId'),
    actor: optionalIdentifier(request.actor, '/actor'),
    mutations,
    fences,
    outbox,
  };
}

/**
 * Identifies the content of a request under one key: SHA-256 of its canonical JSON (RFC 8785) with defaults filled in. Values of the
 * server (actor, revisions, timestamps) are left out, and the correlation id, which may differ in a retry.
 */
export function requestHash(request: CommitRequest): string {
  // The reader of the request has made the texts of data and payload canonical.
  const mutations = request.mutations.map((m) =>
    m.operation === 'upsert' ? { ...m, data: new CanonicalText(m.dataText), dataText: undefined } : m,
  );
  const outbox = request.outbox.map((w) => ({
    ...w,
    payload: new CanonicalText(w.payloadText),
    payloadText: undefined,
  }));
  const { tenantId, idempotencyKey, fences } = request;
  return sha256(canonicalJson({ tenantId, idempotencyKey, mutations, fences, outbox }));
}

/** `ctx_` and the first 32 hexadecimal digits of SHA-256 over tenant, line feed, key: the same on every deployment. */
export function transactionId(request: CommitRequest): string {
  return `ctx_${sha256(`${request.tenantId}\n${request.idempotencyKey}`).slice(7, 39)}`;
}

/** Throws `duplicate_in_request` for the first item that has the name of an earlier one. */
export function refuseRepeats<T>(
  items: readonly T[],
  pointer: string,
  noun: string,
  identity: (item: T) => readonly string[],
): void {
  const seen = new Set<string>();
  items.forEach((item, n) => {
    const name = JSON.stringify(identity(item));
    if (seen.has(name)) {
      throw invalidMember(
        `${pointer}/${n}`,
        `the same ${noun} occurs twice in one transaction`,
        'duplicate_in_request',
      );
    }
    seen.add(name);
  });
}

function checkTotal(mutations: readonly Mutation[], outbox: readonly OutboxWrite[]): void {
  let bytes = 0;
  for (const m of mutations) if (m.operation === 'upsert') bytes += Buffer.byteLength(m.dataText);
  for (const w of outbox) bytes += Buffer.byteLength(w.payloadText);
  if (bytes > limits.commitBytesMax) {
    throw new ServiceError(
      'commit_too_large',
      `The documents and payloads of one transaction may hold ${limits.commitBytesMax} bytes together`,
      { contentBytes: bytes, contentBytesMax: limits.commitBytesMax },
    );
  }
}
