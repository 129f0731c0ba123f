import { isDeepStrictEqual } from 'node:util';
import type { OutboxEvent } from '../../dispatcher/client.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { HttpOutboxClient } from '../../dispatcher/http-client.ts';
import type { TenantClient } from './client.ts';
import { resolveManifest } from './reader.ts';
import { PUBLISHED_TOPIC } from './shapes.ts';

interface Payload {
  readonly importId: string;
  readonly sourceId: string;
  readonly sourceVersion: number;
  readonly expectedCount: number;
  readonly sourceHash: string;
}

const LATE_MS = 30_000;

/** A consumer of publication events: it remembers the imports and compares each event with the manifest. */
export class PublishedEvents {
  /** By event id: delivery is at least once, so an event may arrive more than once. */
  readonly #deliveredImports = new Map<string, string>();
  readonly #address: string;
  readonly #client: TenantClient;
  readonly #dispatcher: Dispatcher;
  readonly #faults: unknown[] = [];
  #waiting: (() => void)[] = [];

  constructor(client: TenantClient, address: string) {
    this.#client = client;
    this.#address = address;
    this.#dispatcher = new Dispatcher({
      client: new HttpOutboxClient({ address }),
      tenantId: client.tenantId,
      consumerId: `catalogue-${process.pid}`,
      handlers: { [PUBLISHED_TOPIC]: (event) => this.#handle(event) },
      waitSeconds: 5,
      onEvent: () => this.#wake(),
      onError: (error) => {
        this.#faults.push(error);
        this.#wake();
      },
    });
    this.#dispatcher.start();
  }

  /** Settles when the event of the import is delivered; throws if none arrives. */
  async delivered(importId: string): Promise<void> {
    const late = AbortSignal.timeout(LATE_MS);
    late.addEventListener('abort', () => this.#wake());
    while (![...this.#deliveredImports.values()].includes(importId)) {
      this.#throwFaults();
      if (late.aborted) throw new Error(`the event of ${importId} did not come`);
      await new Promise<void>((wake) => this.#waiting.push(wake));
    }
  }

  /** Checks that the outbox holds exactly one delivered event per import. */
  async check(importIds: readonly string[]): Promise<void> {
    await this.stop();
    const inOutbox = await this.#list();
    const published = inOutbox.map(({ payload }) => (payload as Payload).importId);
    const delivered = [...this.#deliveredImports.values()];
    for (const [state, list] of Object.entries({ 'in the outbox': published, delivered })) {
      if (list.toSorted().join() !== importIds.toSorted().join()) {
        throw new Error(`${PUBLISHED_TOPIC} ${state}: ${list.join(', ')}`);
      }
    }
    const open = inOutbox.filter(({ deliveredAtUtc }) => deliveredAtUtc === null);
    if (open.length > 0) throw new Error(`${open.length} events were not acknowledged`);
  }

  async stop(): Promise<void> {
    await this.#dispatcher.stop();
    this.#throwFaults();
  }

  async #handle({ id, payload }: OutboxEvent): Promise<void> {
    const event = payload as Payload;
    const manifest = await resolveManifest(this.#client, event.sourceId);
    // A later version may be published before this event is delivered.
    const agrees =
      manifest !== null &&
      (manifest.sourceVersion > event.sourceVersion ||
        isDeepStrictEqual({ ...manifest }, { ...event, status: 'published' }));
    if (!agrees) this.#faults.push(new Error(`the event of ${event.importId} and the manifest disagree`));
    this.#deliveredImports.set(id, event.importId);
  }

  async #list(): Promise<{ payload: unknown; deliveredAtUtc: string | null }[]> {
    const response = await fetch(`${this.#address}/canonical/tenants/${this.#client.tenantId}/outbox/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ topic: PUBLISHED_TOPIC, limit: 1000 }),
    });
    if (!response.ok) throw new Error(`the outbox answered ${response.status}`);
    return ((await response.json()) as { items: { payload: unknown; deliveredAtUtc: string | null }[] })
      .items;
  }

  #throwFaults(): void {
    const [fault] = this.#faults;
    if (fault !== undefined) throw fault;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
