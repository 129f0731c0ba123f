import type { CanonicalOutboxLeaseList } from '../../contracts/generated/models.ts';
import { Random } from '../simulation/random.ts';
import { HttpTenant } from '../support/http.ts';
import type { Seen } from './outbox-log.ts';
import type { Servers } from './servers.ts';

const BATCH = 100;
/** Calls for the events of a batch that one consumer has under way at once. */
const PARALLEL = 8;

export interface ConsumerOptions {
  readonly tenantId: string;
  readonly seed: number;
  readonly events: number;
  /** Called after each acknowledgement that was accepted for the first time. */
  readonly acknowledged: (count: number) => void;
}

interface Held {
  readonly eventId: string;
  readonly token: string;
}

/** Consumers of one outbox, who go on until they have acknowledged every event. */
export class Consumers {
  readonly log: Seen[] = [];
  readonly #servers: Servers;
  readonly #options: ConsumerOptions;
  readonly #done = new Set<string>();

  constructor(servers: Servers, options: ConsumerOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  get over(): boolean {
    return this.#done.size >= this.#options.events;
  }

  async consume(name: string): Promise<void> {
    const random = new Random(this.#options.seed + Number(name));
    while (!this.over) {
      const batch = await this.#lease(name, random);
      const fates = batch.map((held) => ({ held, fate: random.below(100) }));
      const worker = async () => {
        for (let next = fates.pop(); next !== undefined; next = fates.pop()) await this.#deal(next, random);
      };
      await Promise.all(Array.from({ length: PARALLEL }, worker));
    }
  }

  async #deal({ held, fate }: { held: Held; fate: number }, random: Random): Promise<void> {
    // A consumer that forgot: the event comes back when its lease is over.
    if (fate < 3) return;
    if (fate < 6) await this.#end('release', held, { retryAfterSeconds: (1 + random.below(4)) / 10 });
    else await this.#end('ack', held, {});
  }

  async #lease(consumerId: string, random: Random): Promise<Held[]> {
    const leaseSeconds = (5 + random.below(15)) / 10;
    // An empty outbox is waited for at the server, which answers as soon as an event is due.
    const body = { consumerId, maxItems: 1 + random.below(BATCH), leaseSeconds, waitSeconds: 1 };
    const answer = await this.#post<CanonicalOutboxLeaseList>('/outbox/leases', body, random.below(2));
    // No client holds an event that was leased without an answer, until the lease ends.
    if (answer === undefined) return [];
    const at = Date.now();
    return answer.body.map(({ event, leaseToken: token, expiresAtUtc }) => {
      this.log.push({ kind: 'lease', eventId: event.id, token, at, expiresAt: Date.parse(expiresAtUtc) });
      return { eventId: event.id, token };
    });
  }

  /** Repeats the call with the same token until a server answers: a refusal is an answer. */
  async #end(kind: 'ack' | 'release', { eventId, token }: Held, body: object): Promise<void> {
    const at = Date.now();
    const path = `/outbox/${encodeURIComponent(eventId)}/${kind === 'ack' ? 'ack' : 'nack'}`;
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#post(path, { leaseToken: token, ...body }, attempt);
      if (answer === undefined) continue;
      const accepted = answer.status === 204;
      this.log.push({ kind, eventId, token, at, accepted });
      if (!accepted || kind === 'release' || this.#done.has(eventId)) return;
      this.#done.add(eventId);
      this.#options.acknowledged(this.#done.size);
      return;
    }
  }

  /** `undefined` where the outcome of the call is unknown. */
  async #post<T>(path: string, body: object, preferred: number) {
    const address = await this.#servers.address(preferred);
    const tenant = new HttpTenant(address, this.#options.tenantId);
    const answer = await tenant.post<T>(path, body).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) return undefined;
    if (answer.status !== 200 && answer.status !== 204 && answer.status !== 409) {
      throw new Error(`${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return answer;
  }
}
