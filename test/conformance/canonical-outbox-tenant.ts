import { randomUUID } from 'node:crypto';
import type { CanonicalOutboxWrite } from '../../contracts/generated/models.ts';
import { machine } from '../../functions/compose/machine.ts';
import { commitCanonicalTransaction } from '../../functions/groups/canonical/commit/commit-operation.ts';
import type { CanonicalDependencies } from '../../functions/groups/canonical/dependencies.ts';
import {
  acknowledgeCanonicalOutbox,
  leaseCanonicalOutbox,
  releaseCanonicalOutbox,
  renewCanonicalOutboxLease,
  replayCanonicalOutbox,
} from '../../functions/groups/canonical/outbox/outbox-operations.ts';
import { queryCanonicalOutbox } from '../../functions/groups/canonical/outbox/outbox-query.ts';
import { DeliveredRetention } from '../../functions/groups/canonical/outbox/retention.ts';
import { OutboxWaits } from '../../functions/groups/canonical/outbox/wake.ts';
import type { LogEvent } from '../../functions/kernel/log.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import { ManualWorld } from '../support/manual-world.ts';

/** The store with some of its verbs replaced. */
export function patched(store: RecordStore, verbs: Partial<RecordStore>): RecordStore {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(verbs, name)) return Reflect.get(verbs, name) as unknown;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

export interface OutboxTenantOptions {
  readonly tenantId?: string;
  readonly world?: ManualWorld;
  readonly keptDays?: number | null;
}

interface LeaseBody {
  readonly maxItems?: number;
  readonly leaseSeconds?: number;
  readonly waitSeconds?: number;
}

/** The outbox of one tenant through one instance: with calls that wait and a retention, in a world of its own. */
export class OutboxTenant {
  readonly tenantId: string;
  readonly world: ManualWorld;
  readonly retention: DeliveredRetention;
  readonly log: LogEvent[] = [];
  readonly #dependencies: CanonicalDependencies;

  constructor(store: RecordStore, options: OutboxTenantOptions = {}) {
    this.tenantId = options.tenantId ?? `tenant-${randomUUID()}`;
    this.world = options.world ?? new ManualWorld();
    const { clock } = this.world;
    const open = () => Promise.resolve(store);
    const log = (event: LogEvent) => void this.log.push(event);
    this.retention = new DeliveredRetention({ keptDays: options.keptDays ?? null, store: open, clock, log });
    // The outbox handlers use these members alone.
    this.#dependencies = {
      store: open,
      world: { ...machine, clock, timers: this.world.timers },
      pageTokens: new PageTokens(sharedSecret(open, machine.random, 'page-token')),
      waits: new OutboxWaits(this.world),
      retention: this.retention,
      log,
    } as Partial<CanonicalDependencies> as CanonicalDependencies;
  }

  async commit(outbox: readonly CanonicalOutboxWrite[], idempotencyKey: string = randomUUID()) {
    const { tenantId } = this;
    const input = {
      params: { tenantId },
      query: {},
      body: { tenantId, idempotencyKey, outbox: [...outbox] },
    };
    return (await commitCanonicalTransaction(this.#dependencies)(input, this.#context())).body;
  }

  async lease(body: LeaseBody = {}, signal?: AbortSignal) {
    const input = this.#input({ consumerId: 'consumer', ...body });
    return (await leaseCanonicalOutbox(this.#dependencies)(input, this.#context(signal))).body;
  }

  async leaseOne(leaseSeconds = 60) {
    const [lease] = await this.lease({ maxItems: 1, leaseSeconds });
    if (lease === undefined) throw new Error('nothing was due');
    return lease;
  }

  async ack(eventId: string, leaseToken: string) {
    await acknowledgeCanonicalOutbox(this.#dependencies)(
      this.#event(eventId, { leaseToken }),
      this.#context(),
    );
  }

  async renew(eventId: string, leaseToken: string) {
    const { body } = await renewCanonicalOutboxLease(this.#dependencies)(
      this.#event(eventId, { leaseToken }),
      this.#context(),
    );
    return body.expiresAtUtc;
  }

  async release(eventId: string, leaseToken: string, retryAfterSeconds?: number) {
    const body = { leaseToken, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    await releaseCanonicalOutbox(this.#dependencies)(this.#event(eventId, body), this.#context());
  }

  async replay(eventId: string) {
    await replayCanonicalOutbox(this.#dependencies)(this.#event(eventId, {}), this.#context());
  }

  /** The ids of all pages. */
  async list(state: 'delivered' | 'ready' | null = null): Promise<string[]> {
    const ids: string[] = [];
    let continuationToken: string | null = null;
    do {
      const input = this.#input({ state, continuationToken });
      const { body } = await queryCanonicalOutbox(this.#dependencies)(input, this.#context());
      ids.push(...body.items.map(({ id }) => id));
      ({ continuationToken } = body);
    } while (continuationToken !== null);
    return ids;
  }

  #input<B>(body: B) {
    return { params: { tenantId: this.tenantId }, query: {}, body };
  }

  #event<B>(eventId: string, body: B) {
    return { params: { tenantId: this.tenantId, eventId }, query: {}, body };
  }

  #context(signal = new AbortController().signal) {
    return {
      caller: { kind: 'development', principal: null } as const,
      correlationId: 'test',
      now: this.world.now,
      signal,
    };
  }
}
