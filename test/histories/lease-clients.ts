import type { Random } from '../simulation/random.ts';
import type { Workload } from './workload.ts';

const EVENTS = 16;
/** The latest tokens, which every client may use: some have been replaced, and two clients use some at once. */
const RECENT = 12;
/** Longer than any lease or delay of these clients. */
const LATER_MS = 60_000;

interface Held {
  readonly eventId: string;
  readonly leaseToken: string;
}

/** Clients that lease, renew, acknowledge, release and replay a few events, each other's as well. */
export class LeaseClients {
  readonly #work: Workload;
  readonly #tokens: Held[] = [];

  constructor(work: Workload) {
    this.#work = work;
  }

  /** Throws where an event is neither delivered nor a dead letter, and no client can lease it. */
  async run(): Promise<void> {
    const outbox = Array.from({ length: EVENTS }, (_, n) => ({
      id: `e${n}`,
      topic: 't',
      key: 'k',
      // Every second one becomes a dead letter sooner or later.
      maxDeliveryAttempts: n % 2 === 0 ? null : 1 + (n % 3),
    }));
    const [first] = await this.#work.askEach('commitCanonicalTransaction', {
      idempotencyKey: 'first',
      outbox,
    });
    if (first?.kind !== 'answer') throw new Error('the events were not committed');
    await this.#work.run((random) => this.#turn(random));
    await this.#drain();
  }

  async #turn(random: Random): Promise<void> {
    const fate = random.below(100);
    if (fate < 45) return this.#lease(random);
    if (fate < 52) return this.#look();
    if (fate < 60) return this.#replay(random);
    const held = this.#tokens.length === 0 ? undefined : random.pick(this.#tokens.slice(-RECENT));
    if (held === undefined) return undefined;
    const { eventId, leaseToken } = held;
    if (fate < 64) await this.#work.ask('acknowledgeCanonicalOutbox', { leaseToken }, { eventId });
    else if (fate < 80) {
      const body = { leaseToken, leaseSeconds: seconds(random) };
      await this.#work.ask('renewCanonicalOutboxLease', body, { eventId });
    } else {
      const body = { leaseToken, retryAfterSeconds: random.chance(0.5) ? 0.001 : seconds(random) };
      await this.#work.ask('releaseCanonicalOutbox', body, { eventId });
    }
  }

  async #lease(random: Random): Promise<void> {
    const body = { consumerId: 'c', maxItems: 1 + random.below(3), leaseSeconds: seconds(random) };
    const outcome = await this.#work.ask('leaseCanonicalOutbox', body);
    if (outcome.kind !== 'answer') return;
    for (const { event, leaseToken } of outcome.body) this.#tokens.push({ eventId: event.id, leaseToken });
  }

  async #look(): Promise<void> {
    await this.#work.ask('queryCanonicalOutbox', { limit: 1_000 });
  }

  async #replay(random: Random): Promise<void> {
    // Half of the events have no ceiling, and so nothing to replay.
    const eventId = `e${1 + 2 * random.below(EVENTS / 2)}`;
    await this.#work.ask('replayCanonicalOutbox', { resetDeliveryCount: random.chance(0.5) }, { eventId });
  }

  /** Once all leases are over, everything that can be leased is leased and acknowledged, and then looked at. */
  async #drain(): Promise<void> {
    this.#work.now += LATER_MS;
    const body = { consumerId: 'last', maxItems: EVENTS, leaseSeconds: LATER_MS };
    for (const outcome of await this.#work.askEach('leaseCanonicalOutbox', body)) {
      if (outcome.kind !== 'answer') throw new Error('nothing could be leased in the end');
      for (const { event, leaseToken } of outcome.body) {
        await this.#work.askEach('acknowledgeCanonicalOutbox', { leaseToken }, { eventId: event.id });
      }
    }
    for (const outcome of await this.#work.askEach('queryCanonicalOutbox', { limit: 1_000 })) {
      const items = outcome.kind === 'answer' ? outcome.body.items : [];
      const ended = items.filter((item) => item.deliveredAtUtc !== null || item.deadLetteredAtUtc !== null);
      if (ended.length !== EVENTS) throw new Error(`${EVENTS - ended.length} events can never be delivered`);
    }
  }
}

/** Short: a few calls of others last as long. */
function seconds(random: Random): number {
  return (1 + random.below(32)) / 8;
}
