import type {
  CanonicalMutation,
  CanonicalOutboxWrite,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import type { Call } from './canonical-calls.ts';
import { judgeEvent } from './event-model.ts';
import { type DocumentEffect, type EventModel, type FenceEffect, refused, type Verdict } from './verdict.ts';

export interface DocumentModel {
  readonly revision: number;
  readonly deleted: boolean;
  readonly dataText: string | null;
}

export interface ReceiptModel {
  readonly request: string;
  readonly result: string;
}

/** All that a tenant was at one moment. */
export interface TenantState {
  readonly documents: ReadonlyMap<string, DocumentModel>;
  readonly fences: ReadonlyMap<string, string>;
  readonly events: ReadonlyMap<string, EventModel>;
  readonly receipts: ReadonlyMap<string, ReceiptModel>;
}

/**
 * One tenant as the specification describes it, written anew in plain maps: its answer to a call is compared with what
 * the service did. It knows nothing of records, attempts or instances.
 */
export class CanonicalModel {
  readonly tenantId: string;
  readonly documents = new Map<string, DocumentModel>();
  readonly fences = new Map<string, string>();
  readonly events = new Map<string, EventModel>();
  readonly receipts = new Map<string, ReceiptModel>();
  /** Every token hash that was ever given. */
  readonly tokens = new Set<string>();
  /** Every key that was ever committed, also where a restore has freed it since. */
  readonly keys = new Set<string>();
  /** The states of the tenant from its beginning, in order. */
  readonly states: TenantState[] = [];
  /** How often it was restored. */
  restores = 0;

  constructor(tenantId: string) {
    this.tenantId = tenantId;
    this.keep();
  }

  /** Records the present state of the tenant. */
  keep(): void {
    const { documents, fences, events, receipts } = this;
    const state = {
      documents: new Map(documents),
      fences: new Map(fences),
      events: new Map(events),
      receipts: new Map(receipts),
    };
    this.states.push(state);
  }

  /** Returns the tenant to an earlier state. */
  restore(state: TenantState): void {
    this.restores++;
    for (const name of ['documents', 'fences', 'events', 'receipts'] as const) {
      this[name].clear();
      for (const [key, value] of state[name]) this[name].set(key, value as never);
    }
    this.keep();
  }

  judge(call: Call): Verdict {
    if (call.operation === 'commitCanonicalTransaction') {
      return this.#judgeCommit(call as Call<'commitCanonicalTransaction'>);
    }
    const { eventId } = call.params as { readonly eventId: string };
    return judgeEvent(call, this.events.get(eventId));
  }

  /** Applies a verdict to the model. `result` is the answer to keep for a commit. */
  accept(call: Call, verdict: Verdict, result = ''): void {
    if (verdict.kind === 'event') this.events.set(verdict.event.id, verdict.event);
    if (verdict.kind === 'commit') this.#commit(call as Call<'commitCanonicalTransaction'>, verdict, result);
    this.keep();
  }

  #commit(
    { body }: Call<'commitCanonicalTransaction'>,
    verdict: Extract<Verdict, { kind: 'commit' }>,
    result: string,
  ): void {
    for (const { documentType, id, revision, deleted, dataText } of verdict.documents) {
      this.documents.set(nameOf(documentType, id), { revision, deleted, dataText });
    }
    for (const { name, value, owner } of verdict.fences) {
      if (owner === null) this.fences.delete(nameOf(name, value));
      else this.fences.set(nameOf(name, value), owner);
    }
    for (const event of verdict.events) this.events.set(event.id, event);
    this.receipts.set(body.idempotencyKey, { request: meaning(body), result });
    this.keys.add(body.idempotencyKey);
  }

  #judgeCommit({ body }: Call<'commitCanonicalTransaction'>): Verdict {
    const receipt = this.receipts.get(body.idempotencyKey);
    if (receipt !== undefined) {
      if (receipt.request !== meaning(body)) return refused('idempotency_conflict');
      return { kind: 'replayed', result: receipt.result };
    }
    const documents: DocumentEffect[] = [];
    for (const mutation of body.mutations ?? []) {
      const effect = this.#mutate(mutation);
      if (typeof effect === 'string') return refused(effect);
      documents.push(effect);
    }
    const fences: FenceEffect[] = [];
    for (const { operation, name, value, ownerDocumentType, ownerDocumentId } of body.fences ?? []) {
      const claimant = nameOf(ownerDocumentType, ownerDocumentId);
      const owner = this.fences.get(nameOf(name, value));
      if (operation === 'release') {
        if (owner !== claimant) return refused('fence_not_owned');
        fences.push({ name, value, owner: null });
      } else {
        if (owner !== undefined && owner !== claimant) return refused('fence_conflict');
        if (owner === undefined) fences.push({ name, value, owner: claimant });
      }
    }
    const events = (body.outbox ?? []).map((write, n) => this.#event(body.idempotencyKey, write, n));
    if (events.some(({ id }) => this.events.has(id))) return refused('outbox_event_exists');
    return { kind: 'commit', documents, fences, events };
  }

  /** The refusal, or the next state of the document. */
  #mutate(mutation: CanonicalMutation): DocumentEffect | string {
    const documentType = mutation.document?.documentType ?? mutation.documentType ?? '';
    const id = mutation.document?.id ?? mutation.id ?? '';
    const current = this.documents.get(nameOf(documentType, id));
    const { expectedRevision = null, mustExist, mustNotExist } = mutation.precondition ?? {};
    if (mustNotExist === true && current !== undefined) return 'precondition_failed';
    if (mustExist === true && current === undefined) return 'precondition_failed';
    if (expectedRevision !== null && expectedRevision !== current?.revision) return 'precondition_failed';
    const deleted = mutation.operation === 'delete';
    if (deleted && (current === undefined || current.deleted)) return 'document_missing';
    const dataText = deleted ? null : canonicalJson(mutation.document?.data);
    return { documentType, id, revision: (current?.revision ?? 0) + 1, deleted, dataText };
  }

  #event(key: string, write: CanonicalOutboxWrite, position: number): EventModel {
    const transaction = `ctx_${sha256(`${this.tenantId}\n${key}`).slice('sha256:'.length).slice(0, 32)}`;
    const { notBeforeUtc = null, maxDeliveryAttempts = null } = write;
    return {
      id: write.id ?? `${transaction}:${String(position).padStart(3, '0')}`,
      topic: write.topic,
      max: maxDeliveryAttempts,
      state: 'open',
      notBefore: notBeforeUtc === null ? null : Date.parse(notBeforeUtc),
      count: 0,
      expiry: null,
      tokenHash: null,
    };
  }
}

export function nameOf(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

/** The part that two requests under one key must share. */
function meaning(request: CanonicalTransactionRequest): string {
  // Canonical JSON leaves out undefined members.
  return canonicalJson({ ...request, correlationId: undefined, actor: undefined });
}
