import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type {
  CanonicalDocumentInput,
  CanonicalMutation,
  CanonicalTenantSnapshot,
  CanonicalWritePrecondition,
  JsonObject,
} from '../../contracts/generated/models.ts';
import type { OperationTypes } from '../../contracts/generated/operations.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { CanonicalDependencies } from '../../functions/groups/canonical/dependencies.ts';
import { canonicalHandlers } from '../../functions/groups/canonical/handlers.ts';
import type { CallContext } from '../../functions/http/handler.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import { readAnswer } from './written-answer.ts';

/** A world whose clock stands where the test puts it; nothing in it waits. */
export function testWorld(clock: { now: number }): World {
  const own = { now: () => clock.now };
  return { ...machine, clock: own, turns: new TurnRoom(own) };
}

/** Dependencies that only preflight reads: its own tests cover them. */
export const unconfigured: Pick<CanonicalDependencies, 'log' | 'configuration'> = {
  log: () => undefined,
  configuration: {
    development: true,
    provider: 'test',
    authenticationMode: 'none',
    identityPolicyCount: 0,
    tenantPoliciesEnforced: false,
    messageBytesMax: null,
    limitOf: () => ({ bytes: 1_000_000, setting: 'Quotas:TenantBytesMax' }),
    rateLimit: { permitLimit: 1, windowSeconds: 1 },
  },
};

export type Commit = Partial<Omit<OperationTypes['commitCanonicalTransaction']['body'], 'tenantId'>>;

type UpsertOptions = Partial<Omit<CanonicalDocumentInput, 'id' | 'data'>> & {
  readonly precondition?: CanonicalWritePrecondition | null;
};

export const START = Date.parse('2026-01-02T03:04:05.000Z');

/** An instance of the operations over a store, which shares nothing else with any other. */
export function handlersOver(
  store: RecordStore,
  clock: { now: number },
  changes: Partial<CanonicalDependencies> = {},
) {
  const world = testWorld(clock);
  const open = () => Promise.resolve(store);
  const pageTokens = new PageTokens(sharedSecret(open, world.random, 'page-token'));
  return canonicalHandlers({ store: open, world, pageTokens, ...unconfigured, ...changes });
}

/** The call of an unauthenticated caller. */
export function callAt(now: number, signal = new AbortController().signal): CallContext {
  return { caller: { kind: 'development', principal: null }, correlationId: 'test', now, signal };
}

/** One tenant of its own, spoken to as a handler would be, at a time that the test sets. */
export class TenantClient {
  readonly tenantId: string;
  readonly clock: { now: number };
  readonly #handlers;
  readonly #store: RecordStore;

  constructor(store: RecordStore, tenantId = `tenant-${randomUUID()}`, clock = { now: START }) {
    this.tenantId = tenantId;
    this.clock = clock;
    this.#store = store;
    this.#handlers = handlersOver(store, clock);
  }

  /** The same tenant through another instance, which shares nothing but the store. */
  otherInstance(): TenantClient {
    return new TenantClient(this.#store, this.tenantId, this.clock);
  }

  advance(milliseconds: number): void {
    this.clock.now += milliseconds;
  }

  async commit(request: Commit, principal: string | null = null) {
    const { tenantId } = this;
    const body = { tenantId, idempotencyKey: randomUUID(), ...request };
    const input = { params: { tenantId }, query: {}, body };
    return (await this.#handlers.commitCanonicalTransaction(input, this.#context(principal))).body;
  }

  async read(documentType: string, id: string, includeDeleted = false) {
    const body = { documentType, id, includeDeleted };
    return readAnswer((await this.#handlers.readCanonicalDocument(this.#input(body), this.#context())).body);
  }

  async query(body: Partial<OperationTypes['queryCanonicalDocuments']['body']> = {}) {
    return readAnswer(
      (await this.#handlers.queryCanonicalDocuments(this.#input(body), this.#context())).body,
    );
  }

  async revisions(documentType: string, id: string, limit?: number) {
    const body = { documentType, id, ...(limit === undefined ? {} : { limit }) };
    return (await this.#handlers.queryCanonicalDocumentRevisions(this.#input(body), this.#context())).body;
  }

  /** A page of revisions, and the query of the next one; `null` after the last. */
  async revisionPage(
    query: OperationTypes['queryCanonicalDocumentRevisions']['query'],
    body: OperationTypes['queryCanonicalDocumentRevisions']['body'],
  ) {
    const input = { ...this.#input(body), query };
    const answer = await this.#handlers.queryCanonicalDocumentRevisions(input, this.#context());
    const link = answer.headers?.Link;
    const next = link === undefined ? null : new URLSearchParams(/\?(.*)>/.exec(link)?.[1]);
    return { revisions: answer.body.map(({ revision }) => revision), link, next };
  }

  /** The header fields of the answer to a query. */
  async queryHeaders(body: Partial<OperationTypes['queryCanonicalDocuments']['body']> = {}) {
    return (await this.#handlers.queryCanonicalDocuments(this.#input(body), this.#context())).headers;
  }

  async lease(body: Partial<OperationTypes['leaseCanonicalOutbox']['body']> = {}) {
    const input = this.#input({ consumerId: 'consumer', ...body });
    return (await this.#handlers.leaseCanonicalOutbox(input, this.#context())).body;
  }

  async queryOutbox(body: Partial<OperationTypes['queryCanonicalOutbox']['body']> = {}) {
    return (await this.#handlers.queryCanonicalOutbox(this.#input(body), this.#context())).body;
  }

  async renew(eventId: string, body: { leaseToken: string; leaseSeconds?: number }) {
    return (await this.#handlers.renewCanonicalOutboxLease(this.#event(eventId, body), this.#context())).body;
  }

  async ack(eventId: string, leaseToken: string) {
    await this.#handlers.acknowledgeCanonicalOutbox(this.#event(eventId, { leaseToken }), this.#context());
  }

  async release(
    eventId: string,
    body: { leaseToken: string; notBeforeUtc?: string; retryAfterSeconds?: number; error?: string },
  ) {
    await this.#handlers.releaseCanonicalOutbox(this.#event(eventId, body), this.#context());
  }

  async replay(eventId: string, resetDeliveryCount?: boolean) {
    const body = resetDeliveryCount === undefined ? {} : { resetDeliveryCount };
    await this.#handlers.replayCanonicalOutbox(this.#event(eventId, body), this.#context());
  }

  async export() {
    const input = { params: { tenantId: this.tenantId }, query: {}, body: null };
    const { body } = await this.#handlers.exportCanonicalTenant(input, this.#context());
    return readAnswer(body);
  }

  async restore(snapshot: CanonicalTenantSnapshot, expectedContentHash: string | null = null) {
    await this.#handlers.restoreCanonicalTenant(
      this.#input({ snapshot, expectedContentHash }),
      this.#context(),
    );
  }

  /** An upsert of a document of this tenant. */
  upsert(id: string, data: JsonObject = { id }, more: UpsertOptions = {}): CanonicalMutation {
    const { precondition = null, ...document } = more;
    const base = { tenantId: this.tenantId, documentType: 'claim', id, schemaVersion: 'v1', data };
    return { operation: 'upsert', document: { ...base, ...document }, precondition };
  }

  remove(
    id: string,
    precondition: CanonicalWritePrecondition | null = null,
    documentType = 'claim',
  ): CanonicalMutation {
    return { operation: 'delete', documentType, id, precondition };
  }

  #input<B>(body: B) {
    return { params: { tenantId: this.tenantId }, query: {}, body };
  }

  #event<B>(eventId: string, body: B) {
    return { params: { tenantId: this.tenantId, eventId }, query: {}, body };
  }

  #context(principal: string | null = null): CallContext {
    return {
      caller: principal === null ? { kind: 'development', principal: null } : { kind: 'workload', principal },
      correlationId: 'test',
      now: this.clock.now,
      signal: new AbortController().signal,
    };
  }
}

/** Expects a refusal by its code, and gives the error back for a closer look. */
export async function refused(code: string, call: Promise<unknown>): Promise<ServiceError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ServiceError);
  expect((error as ServiceError).code).toBe(code);
  return error as ServiceError;
}
