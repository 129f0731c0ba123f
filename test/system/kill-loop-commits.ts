import { createHash } from 'node:crypto';
import type {
  CanonicalDocument,
  CanonicalDocumentQueryResult,
  CanonicalDocumentRevisionList,
  CanonicalFenceMutation,
  CanonicalMutation,
  CanonicalOutboxWrite,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
  JsonObject,
} from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import type { Random } from '../simulation/random.ts';
import { same } from './kill-loop-audit.ts';
import type { Attempt, TenantLog } from './kill-loop-log.ts';
import type { LoopServer, Reply } from './kill-loop-server.ts';
import { tenantPath } from './kill-loop-server.ts';

const DOCUMENTS = 6;
const SEATS = 3;
/** Documents of one large commit, and the characters of one large payload, which is filed in parts. */
const BULK = 60;
const LARGE = 300_000;

/** Refusals that a sound server gives to what these clients ask. */
const REFUSALS = new Set(['precondition_failed', 'document_missing', 'fence_conflict', 'fence_not_owned']);

export function codeOf({ body }: Reply): string {
  return String((body as { code?: unknown } | null)?.code);
}

/** Clients that write and read the documents of one tenant. `fault` gets every contradiction with the log. */
export class CommitClients {
  readonly #server: LoopServer;
  readonly #log: TenantLog;
  readonly #fault: (text: string) => void;

  constructor(server: LoopServer, log: TenantLog, fault: (text: string) => void) {
    this.#server = server;
    this.#log = log;
    this.#fault = fault;
  }

  async write(random: Random): Promise<string> {
    const sentBefore = [...this.#log.attempts.values()];
    if (sentBefore.length > 0 && random.chance(0.1)) return this.repeat(random.pick(sentBefore));
    const known = sentBefore.findLast(({ fate }) => fate === 'acknowledged');
    if (known !== undefined && random.chance(0.05)) return this.#reuse(known);
    await this.#send(this.#log.sent(this.#draft(random)));
    return 'commit';
  }

  async #send(attempt: Attempt): Promise<void> {
    attempt.underWay = true;
    const reply = await this.#post('/transactions', attempt.body);
    attempt.underWay = false;
    if (reply === undefined) return;
    if (reply.status === 200) {
      this.#log.acknowledged(attempt, reply.body as CanonicalTransactionResult);
    } else if (REFUSALS.has(codeOf(reply))) {
      attempt.fate = 'refused';
    } else this.#fault(`a commit was answered with ${reply.status} ${codeOf(reply)}`);
  }

  /** Sends a commit again: one that was acknowledged gives its first answer, a refused one may be made now. */
  async repeat(attempt: Attempt): Promise<string> {
    const { result } = attempt;
    if (result === undefined) {
      // With two calls under way, the order of their answers would be unknown.
      if (attempt.underWay) return 'repeat';
      attempt.fate = 'open';
      await this.#send(attempt);
      return 'repeat';
    }
    const reply = await this.#post('/transactions', attempt.body);
    if (reply !== undefined && !same(reply.body, { ...result, replayed: true })) {
      this.#fault(
        `the commit ${attempt.key}, sent again, was answered with ${reply.status} and another result`,
      );
    }
    return 'replay';
  }

  /** Another request under a key that was acknowledged. */
  async #reuse({ key, body }: Attempt): Promise<string> {
    const other = { ...body, correlationId: null, outbox: [{ topic: 'other', key: 'k', payload: null }] };
    const reply = await this.#post('/transactions', other);
    if (reply !== undefined && codeOf(reply) !== 'idempotency_conflict') {
      this.#fault(`the key ${key}, used for another request, was answered with ${reply.status}`);
    }
    return 'reuse';
  }

  #draft(random: Random): CanonicalTransactionRequest {
    const { tenantId, attempts } = this.#log;
    const key = `${attempts.size}-${random.below(1_000_000)}`;
    const id = `d${random.below(DOCUMENTS)}`;
    const mutations = [this.#mutation(random, key, id)];
    const fences: CanonicalFenceMutation[] = [fence('claim', 'key', key, id)];
    if (random.chance(0.4)) {
      const seat = `${random.below(SEATS)}`;
      mutations.push(upsert(tenantId, 'seat', seat, { key, seat }));
      fences.push(fence(random.chance(0.5) ? 'claim' : 'release', 'seat', seat, id));
    }
    if (random.chance(0.015)) {
      for (let n = 0; n < BULK; n++) mutations.push(upsert(tenantId, 'bulk', `${key}-${n}`, { key, n }));
    }
    const outbox: CanonicalOutboxWrite[] = Array.from({ length: random.below(4) }, (_, n) => ({
      ...(random.chance(0.3) ? { id: `e-${key}-${n}` } : {}),
      topic: `t${n}`,
      key: id,
      payload: { key, n },
      maxDeliveryAttempts: random.pick([null, null, 1, 2]),
      notBeforeUtc: random.chance(0.1) ? new Date(Date.now() + random.below(300)).toISOString() : null,
    }));
    if (random.chance(0.005)) {
      const payload = { key, n: outbox.length, text: 'x'.repeat(LARGE) };
      outbox.push({ topic: 'large', key: id, payload, maxDeliveryAttempts: null, notBeforeUtc: null });
    }
    return { idempotencyKey: key, correlationId: `c-${key}`, actor: 'loop', mutations, fences, outbox };
  }

  #mutation(random: Random, key: string, id: string): CanonicalMutation {
    if (random.chance(0.15)) return { operation: 'delete', documentType: 'doc', id };
    const revision = this.#log.revisions.get(`doc/${id}`);
    const mutation = upsert(this.#log.tenantId, 'doc', id, { key, pad: 'p'.repeat(random.below(2_000)) });
    if (revision === undefined || random.chance(0.8)) return mutation;
    return { ...mutation, precondition: { expectedRevision: revision } };
  }

  /** A document is one of those that were sent, and no older than an answer before the call. */
  async read(random: Random): Promise<string> {
    const name = { documentType: 'doc', id: `d${random.below(DOCUMENTS)}` };
    const answered = this.#log.revisions.get(`doc/${name.id}`) ?? 0;
    const reply = await this.#post('/documents/read', { ...name, includeDeleted: true });
    if (reply === undefined) return 'read';
    const document = reply.body as CanonicalDocument;
    const absent = reply.status === 404 && answered === 0;
    if (!absent && !(reply.status === 200 && document.revision >= answered && this.#isSent(document))) {
      this.#fault(`${name.id} was read with ${reply.status} at ${document.revision}, after ${answered}`);
    }
    return 'read';
  }

  async query(random: Random): Promise<string> {
    const reply = await this.#post('/documents/query', {
      documentType: 'doc',
      orderByIndex: 'slot',
      orderDirection: random.pick(['ascending', 'descending']),
      limit: 3 + random.below(4),
    });
    if (reply === undefined) return 'query';
    const { items = [] } = reply.body as Partial<CanonicalDocumentQueryResult>;
    const ids = new Set(items.map(({ id }) => id));
    if (reply.status !== 200 || ids.size !== items.length || !items.every((item) => this.#isSent(item))) {
      this.#fault(`a query was answered with ${reply.status} and documents that no client sent`);
    }
    return 'query';
  }

  async listRevisions(random: Random): Promise<string> {
    const name = { documentType: 'doc', id: `d${random.below(DOCUMENTS)}` };
    const answered = this.#log.revisions.get(`doc/${name.id}`) ?? 0;
    const reply = await this.#post('/documents/revisions', { ...name, limit: 1_000 });
    if (reply === undefined) return 'revisions';
    const list = reply.body as CanonicalDocumentRevisionList;
    const gapless = reply.status === 200 && list.every(({ revision }, at) => revision === list.length - at);
    if (!gapless || list.length < answered || !list.every(({ document }) => this.#isSent(document))) {
      this.#fault(
        `the revisions of ${name.id} were answered with ${reply.status}, torn or older than ${answered}`,
      );
    }
    return 'revisions';
  }

  /** Documents read one by one, while no client writes, equal those of the snapshot. */
  async checkReads(random: Random, snapshot: TenantSnapshot): Promise<void> {
    const live = snapshot.documents.filter(({ documentType, deleted }) => documentType === 'doc' && !deleted);
    const listed = await this.#post('/documents/query', { documentType: 'doc', limit: 1_000 });
    const { items } = (listed?.body ?? {}) as Partial<CanonicalDocumentQueryResult>;
    if (!same(items ?? null, live)) this.#fault('a query does not list what the snapshot holds');
    if (snapshot.documents.length === 0) return;
    const { documentType, id, ...one } = random.pick(snapshot.documents);
    const read = await this.#post('/documents/read', { documentType, id, includeDeleted: true });
    if (!same(read?.body ?? null, { documentType, id, ...one })) {
      this.#fault(`${id} is not read as the snapshot holds it`);
    }
    const revisions = snapshot.revisions.filter((r) => r.documentType === documentType && r.id === id);
    const history = await this.#post('/documents/revisions', { documentType, id, limit: 1_000 });
    if (!same(history?.body ?? null, revisions.reverse())) {
      this.#fault(`the revisions of ${id} are not listed as the snapshot holds them`);
    }
  }

  #isSent({ documentType, id, data, deleted }: CanonicalDocument): boolean {
    if (deleted) return data === null;
    const sent = this.#log.attempts.get(textOf(data?.['key']))?.body.mutations ?? [];
    return sent.some(
      ({ document }) =>
        document?.documentType === documentType && document.id === id && same(document.data, data ?? null),
    );
  }

  #post(path: string, body: unknown): Promise<Reply | undefined> {
    return this.#server.ask('POST', tenantPath(this.#log.tenantId, path), body);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function upsert(tenantId: string, documentType: string, id: string, data: JsonObject): CanonicalMutation {
  const slot = createHash('sha256').update(id).digest('hex').slice(0, 8);
  const document = { tenantId, documentType, id, schemaVersion: '1', data, indexes: { slot } };
  return { operation: 'upsert', document };
}

function fence(operation: 'claim' | 'release', name: string, value: string, owner: string) {
  return { operation, name, value, ownerDocumentType: 'doc', ownerDocumentId: owner };
}
