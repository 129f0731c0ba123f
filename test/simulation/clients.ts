import type {
  CanonicalFenceMutation,
  CanonicalMutation,
  CanonicalOutboxLease,
  CanonicalOutboxQuery,
  CanonicalOutboxWrite,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import type { AnyOperation, Outcome } from './canonical-calls.ts';
import type { Cluster } from './cluster.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import { Process, TICK_MS } from './scheduler.ts';
import { must } from './violation.ts';

export const DOCUMENT_TYPE = 'item';
const DOCUMENTS = ['d0', 'd1', 'd2'] as const;
const FENCES = ['f0', 'f1'] as const;
const FENCE_NAME = 'slot';
/** Ids that callers choose, few enough to collide. */
const EVENT_IDS = ['e0', 'e1', 'e2'] as const;
const RETRIES_MAX = 6;
const GIVES_UP = 0.2;

/** The state that all clients of one run share. */
export interface Workload {
  readonly cluster: Cluster;
  readonly history: History;
  readonly random: Random;
  readonly tenantId: string;
  /** Requests that were made, to be sent again by others. */
  readonly requests: CanonicalTransactionRequest[];
}

/** One user of the service, who speaks to whichever instance the balancer picks. */
export class Client extends Process {
  protected readonly work: Workload;

  constructor(name: string, work: Workload) {
    super(name);
    this.work = work;
  }

  protected async send<Id extends AnyOperation>(
    operation: Id,
    params: Parameters<Cluster['call']>[3],
    body: Parameters<Cluster['call']>[4],
  ): Promise<Outcome<Id>> {
    return this.sendTo(this.work.random.pick(['A', 'B']), operation, params, body);
  }

  protected async sendTo<Id extends AnyOperation>(
    instance: string,
    operation: Id,
    params: Parameters<Cluster['call']>[3],
    body: Parameters<Cluster['call']>[4],
  ): Promise<Outcome<Id>> {
    const { cluster, history } = this.work;
    const done = history.begin(operation, params, body);
    const outcome = await cluster.call(this, instance, operation, params, body);
    done(outcome as Outcome);
    return outcome;
  }

  /** Repeats the request through any instance while its outcome is unknown; may give up. */
  protected async persist<Id extends AnyOperation>(
    operation: Id,
    params: Parameters<Cluster['call']>[3],
    body: Parameters<Cluster['call']>[4],
  ): Promise<Outcome<Id>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.send(operation, params, body);
      if (outcome.kind === 'answer' || outcome.kind === 'refused' || attempt === RETRIES_MAX) return outcome;
      if (this.work.random.chance(GIVES_UP)) return outcome;
      await this.pause(4);
    }
  }

  protected pause(ticksMax: number): Promise<void> {
    const { cluster, random } = this.work;
    return cluster.scheduler.sleep(this, random.below(ticksMax + 1) * TICK_MS);
  }

  protected params(): { tenantId: string } {
    return { tenantId: this.work.tenantId };
  }
}

/** Commits documents, fences and events, and repeats earlier requests of its own or of others. */
export class Producer extends Client {
  async run(turns: number): Promise<void> {
    const { random, requests } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      const request = requests.length > 0 && random.chance(0.25) ? this.#again() : await this.#compose(turn);
      await this.persist('commitCanonicalTransaction', this.params(), request);
      await this.pause(6);
    }
  }

  /** Another's request under its key, now and then with other content. */
  #again(): CanonicalTransactionRequest {
    const { random, requests } = this.work;
    const request = random.pick(requests);
    return random.chance(0.2) ? { ...request, mutations: [this.#mutation('d9', null)] } : request;
  }

  async #compose(turn: number): Promise<CanonicalTransactionRequest> {
    const { random, requests } = this.work;
    const ids = DOCUMENTS.filter(() => random.chance(0.4));
    const mutations: CanonicalMutation[] = [];
    for (const id of ids)
      mutations.push(this.#mutation(id, random.chance(0.4) ? await this.#revision(id) : null));
    const fences = FENCES.filter(() => random.chance(0.25)).map((value) => this.#fence(value));
    const outbox = Array.from({ length: random.below(3) }, (_, n) => this.#event(n));
    if (mutations.length + fences.length + outbox.length === 0) mutations.push(this.#mutation('d0', null));
    const idempotencyKey = `${this.name}-${turn}`;
    const request = { idempotencyKey, actor: this.name, mutations, fences, outbox: unlike(outbox) };
    requests.push(request);
    return request;
  }

  async #revision(id: string): Promise<number | null> {
    const body = { documentType: DOCUMENT_TYPE, id, includeDeleted: true };
    const outcome = await this.send('readCanonicalDocument', this.params(), body);
    return outcome.kind === 'answer' ? outcome.body.revision : null;
  }

  #mutation(id: string, expectedRevision: number | null): CanonicalMutation {
    const { random, tenantId } = this.work;
    const kind = random.below(10);
    const precondition = {
      expectedRevision,
      mustExist: expectedRevision === null && kind < 2,
      mustNotExist: expectedRevision === null && kind === 2,
    };
    if (random.chance(0.2)) return { operation: 'delete', documentType: DOCUMENT_TYPE, id, precondition };
    const data = { by: this.name, note: random.below(1_000) };
    const document = { tenantId, documentType: DOCUMENT_TYPE, id, schemaVersion: 'v1', data };
    return { operation: 'upsert', document, precondition };
  }

  #fence(value: string): CanonicalFenceMutation {
    const { random } = this.work;
    const operation = random.chance(0.4) ? 'release' : 'claim';
    const ownerDocumentId = random.pick(DOCUMENTS);
    return { operation, name: FENCE_NAME, value, ownerDocumentType: DOCUMENT_TYPE, ownerDocumentId };
  }

  #event(n: number): CanonicalOutboxWrite {
    const { random, cluster } = this.work;
    const later = cluster.scheduler.now + random.below(40) * TICK_MS;
    return {
      id: random.chance(0.25) ? random.pick(EVENT_IDS) : null,
      topic: random.pick(['t0', 't1']),
      key: `${this.name} ${n}`,
      payload: { n },
      notBeforeUtc: random.chance(0.3) ? new Date(later).toISOString() : null,
      maxDeliveryAttempts: random.chance(0.6) ? 1 + random.below(3) : null,
    };
  }
}

/** Two events of one request may not share an id. */
function unlike(outbox: readonly CanonicalOutboxWrite[]): CanonicalOutboxWrite[] {
  const seen = new Set<string>();
  return outbox.map((write) => {
    const { id = null } = write;
    if (id === null || !seen.has(id)) {
      if (id !== null) seen.add(id);
      return write;
    }
    return { ...write, id: null };
  });
}

/** Leases events and acknowledges, renews, releases or forgets them. */
export class Consumer extends Client {
  async run(turns: number): Promise<void> {
    const { random } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      const leaseSeconds = (2 + random.below(30)) / 4;
      const body = { consumerId: this.name, maxItems: 1 + random.below(3), leaseSeconds };
      const outcome = await this.send('leaseCanonicalOutbox', this.params(), body);
      if (outcome.kind === 'answer') for (const lease of outcome.body) await this.#deliver(lease);
      await this.pause(10);
    }
  }

  async #deliver({ event, leaseToken }: CanonicalOutboxLease): Promise<void> {
    const { random } = this.work;
    const params = { ...this.params(), eventId: event.id };
    await this.pause(20);
    const fate = random.below(10);
    // The consumer crashed, and the service hears nothing of it.
    if (fate === 0) return;
    if (fate < 3) await this.persist('renewCanonicalOutboxLease', params, { leaseToken, leaseSeconds: 4 });
    if (fate < 7) await this.persist('acknowledgeCanonicalOutbox', params, { leaseToken });
    else
      await this.persist('releaseCanonicalOutbox', params, {
        leaseToken,
        retryAfterSeconds: fate / 4,
        error: 'no',
      });
    // A consumer that lost count: the second call must be refused, or change nothing.
    if (random.chance(0.15)) await this.send('acknowledgeCanonicalOutbox', params, { leaseToken });
  }
}

/** Looks at the outbox page by page, and replays dead letters. */
export class Operator extends Client {
  async run(turns: number): Promise<void> {
    const { random } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(60);
      for (const eventId of await this.#deadLetters()) {
        if (random.chance(0.4)) continue;
        const params = { ...this.params(), eventId };
        await this.persist('replayCanonicalOutbox', params, { resetDeliveryCount: random.chance(0.5) });
      }
    }
  }

  async #deadLetters(): Promise<string[]> {
    const ids: string[] = [];
    let continuationToken: string | null = null;
    for (let page = 0; page < 5; page++) {
      const body: CanonicalOutboxQuery = { state: 'dead-letter', limit: 2, continuationToken };
      const outcome: Outcome<'queryCanonicalOutbox'> = await this.send(
        'queryCanonicalOutbox',
        this.params(),
        body,
      );
      if (outcome.kind !== 'answer') break;
      for (const item of outcome.body.items) {
        must(item.deadLetteredAtUtc !== null, 'answer', `${item.id} was listed as a dead letter and is none`);
        ids.push(item.id);
      }
      ({ continuationToken } = outcome.body);
      if (continuationToken === null) break;
    }
    must(new Set(ids).size === ids.length, 'answer', 'an event stands on two pages');
    return ids;
  }
}

/** Reads documents and their revisions. */
export class Reader extends Client {
  async run(turns: number): Promise<void> {
    const { random } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(6);
      const name = { documentType: DOCUMENT_TYPE, id: random.pick(DOCUMENTS) };
      await this.send('readCanonicalDocument', this.params(), {
        ...name,
        includeDeleted: random.chance(0.7),
      });
      const outcome = await this.send('queryCanonicalDocumentRevisions', this.params(), {
        ...name,
        limit: 1_000,
      });
      if (outcome.kind !== 'answer') continue;
      const numbers = outcome.body.map(({ revision }) => revision);
      const expected = numbers.map((_, n) => numbers.length - n);
      must(
        numbers.join() === expected.join(),
        'I4 revisions',
        `${name.id} has the revisions ${numbers.join()}`,
      );
    }
  }
}
