import type { OutgoingHttp } from '../../dispatcher/http-client.ts';
import type { RunningService } from '../support/service.ts';

/** `fetch` that calls the service in process. */
export function fetchOf(service: RunningService): OutgoingHttp {
  return async (url, init) => {
    const { pathname } = new URL(url);
    const answer = await service.call({
      method: init.method ?? 'GET',
      path: pathname,
      headers: init.headers as Record<string, string>,
      body: init.body,
      signal: init.signal,
    });
    const body = answer.status === 204 ? null : answer.body;
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
}

export interface Published {
  readonly id: string;
  readonly topic?: string;
  readonly key?: string;
  readonly payload?: unknown;
  readonly maxDeliveryAttempts?: number;
}

/** One tenant of a service called in process. */
export class Tenant {
  readonly #service: RunningService;
  readonly tenantId: string;

  constructor(service: RunningService, tenantId = 'acme') {
    this.#service = service;
    this.tenantId = tenantId;
  }

  async publish(...events: Published[]): Promise<void> {
    const outbox = events.map((event) => ({ topic: 'claim', key: event.id, ...event }));
    const body = { idempotencyKey: `publish ${events[0]?.id}`, outbox };
    await this.#post('/transactions', body);
  }

  async events(state?: string) {
    const items: {
      id: string;
      deliveryCount: number;
      lastError: string | null;
      leaseOwner: string | null;
    }[] = [];
    let continuationToken: string | null = null;
    do {
      const page: { items: typeof items; continuationToken: string | null } = await this.#post(
        '/outbox/query',
        { state, continuationToken, limit: 1000 },
      );
      items.push(...page.items);
      ({ continuationToken } = page);
    } while (continuationToken !== null);
    return items;
  }

  async #post<T>(path: string, body: object): Promise<T> {
    const answer = await this.#service.call({
      method: 'POST',
      path: `/canonical/tenants/${this.tenantId}${path}`,
      body,
    });
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.body}`);
    return answer.json<T>();
  }
}
