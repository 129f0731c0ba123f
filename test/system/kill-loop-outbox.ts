import type {
  CanonicalOutboxEvent,
  CanonicalOutboxLeaseList,
  CanonicalOutboxLeaseRenewal,
  CanonicalOutboxQueryResult,
} from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import type { Random } from '../simulation/random.ts';
import { same } from './kill-loop-audit.ts';
import { codeOf } from './kill-loop-commits.ts';
import type { Hold, TenantLog, TokenCall } from './kill-loop-log.ts';
import type { LoopServer, Reply } from './kill-loop-server.ts';
import { tenantPath } from './kill-loop-server.ts';

/** The latest tokens, which a consumer that forgot them remembers too late. */
const RECENT = 24;
/** Rounds of a drain: each lasts as long as a lease. */
const DRAIN_ROUNDS = 100;

const paths = { ack: 'ack', release: 'nack', renew: 'renew' } as const;

/** Consumers of one tenant's outbox: they lease, wait, renew, acknowledge, give back, forget and come too late. */
export class OutboxClients {
  readonly #server: LoopServer;
  readonly #log: TenantLog;
  readonly #fault: (text: string) => void;
  readonly #deadLetters = new Set<string>();

  constructor(server: LoopServer, log: TenantLog, fault: (text: string) => void) {
    this.#server = server;
    this.#log = log;
    this.#fault = fault;
  }

  /** Leases a few events and deals with each of them. */
  async consume(random: Random): Promise<string> {
    const waitSeconds = random.chance(0.4) ? (1 + random.below(20)) / 10 : null;
    const leaseSeconds = (2 + random.below(8)) / 10;
    const holds = await this.#lease({ maxItems: 1 + random.below(8), leaseSeconds, waitSeconds });
    for (const hold of holds) {
      const replaced = hold.count === 1 ? undefined : this.#before(hold);
      // The earlier holder of the event acknowledges too late.
      if (replaced !== undefined && random.chance(0.5)) await this.#end(random, replaced);
      const fate = random.below(100);
      if (fate < 55) await this.#call('ack', hold, {});
      else if (fate < 70) await this.#call('renew', hold, { leaseSeconds: 1 });
      else if (fate < 85)
        await this.#call('release', hold, { retryAfterSeconds: (1 + random.below(3)) / 10 });
    }
    return waitSeconds === null ? 'lease' : 'waiting lease';
  }

  /** Uses a token again, also one that has been replaced or has ended. */
  async useOldToken(random: Random): Promise<string> {
    const hold = this.#log.holds.length === 0 ? undefined : random.pick(this.#log.holds.slice(-RECENT));
    if (hold !== undefined) await this.#end(random, hold);
    return 'old token';
  }

  #before({ eventId, count }: Hold): Hold | undefined {
    return this.#log.holds.findLast((hold) => hold.eventId === eventId && hold.count < count);
  }

  async #end(random: Random, hold: Hold): Promise<void> {
    const kind = random.pick(['ack', 'renew', 'release'] as const);
    await this.#call(kind, hold, kind === 'renew' ? { leaseSeconds: 1 } : {});
  }

  async look(random: Random): Promise<string> {
    const reply = await this.#post('/outbox/query', {
      state: random.pick(['ready', 'leased', 'scheduled', 'delivered', 'dead-letter', null]),
      limit: 100,
    });
    if (reply === undefined) return 'outbox query';
    const { items = [] } = reply.body as Partial<CanonicalOutboxQueryResult>;
    if (reply.status !== 200 || new Set(items.map(({ id }) => id)).size !== items.length) {
      this.#fault(`the outbox was listed with ${reply.status}, or an event twice`);
    }
    for (const { id, deadLetteredAtUtc } of items) if (deadLetteredAtUtc !== null) this.#deadLetters.add(id);
    return 'outbox query';
  }

  async replay(): Promise<string> {
    const [id] = this.#deadLetters;
    if (id !== undefined && (await this.#replay(id))) this.#deadLetters.delete(id);
    return 'replay';
  }

  /** The list of the idle outbox equals that of the snapshot. */
  async checkList(snapshot: TenantSnapshot): Promise<void> {
    // A snapshot holds no leases.
    const listed = (await this.#all()).map((event) => ({
      ...event,
      leaseOwner: null,
      leaseExpiresAtUtc: null,
    }));
    // A last lease that ran out between the two readings has made a dead letter.
    const moments = { deadLetteredAtUtc: null, notBeforeUtc: null };
    const [left, right] = [listed, snapshot.outbox].map((events) =>
      events.map((event) => ({ ...event, ...moments })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    if (!same(left, right)) this.#fault('the outbox does not list what the snapshot holds');
  }

  /** Every event can still be delivered: afterwards all of them are. */
  async drain(): Promise<void> {
    for (let round = 0; round < DRAIN_ROUNDS; round++) {
      const left = (await this.#all()).filter(({ deliveredAtUtc }) => deliveredAtUtc === null);
      if (left.length === 0) return;
      for (const { id, deadLetteredAtUtc } of left) if (deadLetteredAtUtc !== null) await this.#replay(id);
      const holds = await this.#lease({ maxItems: 100, leaseSeconds: 20, waitSeconds: 1 });
      for (const hold of holds) await this.#call('ack', hold, {});
    }
    this.#fault('an event can never be delivered');
  }

  async #all(): Promise<CanonicalOutboxEvent[]> {
    const events: CanonicalOutboxEvent[] = [];
    let continuationToken: string | null = null;
    do {
      const reply = await this.#post('/outbox/query', { limit: 1_000, continuationToken });
      if (reply?.status !== 200) throw new Error(`the outbox was listed with ${reply?.status}`);
      const page = reply.body as CanonicalOutboxQueryResult;
      events.push(...page.items);
      ({ continuationToken } = page);
    } while (continuationToken !== null);
    return events;
  }

  async #lease(wish: {
    maxItems: number;
    leaseSeconds: number;
    waitSeconds: number | null;
  }): Promise<Hold[]> {
    const reply = await this.#post('/outbox/leases', { consumerId: 'loop', ...wish });
    if (reply === undefined) return [];
    if (reply.status !== 200) {
      this.#fault(`a lease was answered with ${reply.status} ${codeOf(reply)}`);
      return [];
    }
    const leases = reply.body as CanonicalOutboxLeaseList;
    return leases.map(({ event, leaseToken, expiresAtUtc }) =>
      this.#log.leased(event, leaseToken, expiresAtUtc),
    );
  }

  async #call(kind: TokenCall['kind'], hold: Hold, body: object): Promise<void> {
    const call = this.#log.calling(kind, hold);
    const path = `/outbox/${encodeURIComponent(hold.eventId)}/${paths[kind]}`;
    const reply = await this.#post(path, { leaseToken: hold.token, ...body });
    if (reply === undefined) return;
    const code = codeOf(reply);
    if (reply.status === 200 || reply.status === 204) call.outcome = 'accepted';
    else if (code === 'lease_stale' || code === 'lease_not_active') call.outcome = 'refused';
    else this.#fault(`${kind} of ${hold.eventId} was answered with ${reply.status} ${code}`);
    if (kind === 'renew' && call.outcome === 'accepted') {
      hold.expiresAt = Date.parse((reply.body as CanonicalOutboxLeaseRenewal).expiresAtUtc);
    }
  }

  /** Whether it was answered. */
  async #replay(id: string): Promise<boolean> {
    const reply = await this.#post(`/outbox/${encodeURIComponent(id)}/replay`, {});
    if (reply === undefined) return false;
    if (reply.status !== 204 && codeOf(reply) !== 'outbox_event_not_dead_lettered') {
      this.#fault(`the replay of ${id} was answered with ${reply.status} ${codeOf(reply)}`);
    }
    return true;
  }

  #post(path: string, body: unknown): Promise<Reply | undefined> {
    return this.#server.ask('POST', tenantPath(this.#log.tenantId, path), body);
  }
}
