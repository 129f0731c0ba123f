import type { CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { RunningService } from '../support/service.ts';
import { freshTenant } from './target.ts';

export type Headers = Readonly<Record<string, string>>;

/** One tenant of a running service, written to and copied over HTTP. */
export class CopiedTenant {
  readonly id: string;
  readonly #service: RunningService;
  readonly #headers: Headers;

  constructor(service: RunningService, id = freshTenant(), headers: Headers = {}) {
    this.#service = service;
    this.id = id;
    this.#headers = headers;
  }

  post(rest: string, body: unknown): Promise<InjectedResponse> {
    const path = `/canonical/tenants/${encodeURIComponent(this.id)}/${rest}`;
    return this.#service.call({ method: 'POST', path, body, headers: this.#headers });
  }

  /** Posts what must be done; gives its answer. */
  async done<T>(rest: string, body: unknown): Promise<T> {
    const answer = await this.post(rest, body);
    if (answer.status >= 300) throw new Error(`${rest} was answered ${answer.status} ${answer.body}`);
    return (answer.body === '' ? null : answer.json()) as T;
  }

  export(): Promise<InjectedResponse> {
    const path = `/canonical/tenants/${encodeURIComponent(this.id)}/export`;
    return this.#service.call({ method: 'GET', path, headers: this.#headers });
  }

  async snapshot(): Promise<CanonicalTenantSnapshot> {
    const answer = await this.export();
    if (answer.status !== 200) throw new Error(`not exported: ${answer.body}`);
    return answer.json();
  }

  async hash(): Promise<string> {
    return (await this.snapshot()).contentHash;
  }

  restore(snapshot: unknown, more: object = {}): Promise<InjectedResponse> {
    return this.post('restore', { snapshot, ...more });
  }

  commit(idempotencyKey: string, request: object): Promise<unknown> {
    return this.done('transactions', { idempotencyKey, ...request });
  }

  upsert(id: string, data: object, indexes: Headers = {}): object {
    const name = { tenantId: this.id, documentType: 'claim', id, schemaVersion: '1' };
    return { operation: 'upsert', document: { ...name, data, indexes } };
  }
}

interface Lease {
  readonly event: { readonly id: string };
  readonly leaseToken: string;
}

/**
 * Gives the tenant something of everything that operations can leave behind; `mark` stands wherever a caller may write, but
 * for the names of indexes and headers, which a refusal names as places. Answers the lease tokens that were given out.
 */
export async function enrich(
  tenant: CopiedTenant,
  clock: { now: number },
  mark: string,
): Promise<readonly string[]> {
  const upsert = tenant.upsert.bind(tenant);
  const remove = (id: string) => ({ operation: 'delete', documentType: 'claim', id });
  const data = { [mark]: mark, n: 1.5e-7, nested: { z: [null, true, -1, 'ü\u{1f600}'], a: {} } };
  const owner = { ownerDocumentType: 'claim', ownerDocumentId: `a-${mark}` };
  await tenant.commit(`create-${mark}`, {
    correlationId: `c-${mark}`,
    actor: `actor-${mark}`,
    mutations: [
      upsert(`a-${mark}`, data, { title: mark, other: 'x' }),
      upsert('gone', { n: 1 }),
      upsert('back', { n: 1 }),
    ],
    fences: ['one', 'two'].map((value) => ({ name: 'number', value: `${value}-${mark}`, ...owner })),
    outbox: ['delivered', 'parked', 'leased', 'expired'].map((id) => ({
      id,
      // The log names the topic and the id of a dead letter.
      topic: 't-copied',
      key: mark,
      payload: { [mark]: id },
      headers: { 'x-mark': mark },
      maxDeliveryAttempts: id === 'leased' ? null : 1,
    })),
  });
  clock.now += 1_000;
  const leases = await tenant.done<Lease[]>('outbox/leases', { consumerId: mark, leaseSeconds: 30 });
  for (const { event, leaseToken } of leases) {
    const path = `outbox/${event.id}`;
    if (event.id === 'delivered') await tenant.done(`${path}/ack`, { leaseToken });
    if (event.id === 'parked') await tenant.done(`${path}/nack`, { leaseToken, error: `no\n${mark}` });
    if (event.id === 'leased') await tenant.done(`${path}/renew`, { leaseToken, leaseSeconds: 600 });
  }
  clock.now += 60_000;
  await tenant.commit('remove', { mutations: [remove('gone'), remove('back')] });
  await tenant.commit('again', {
    mutations: [upsert('back', { n: 2 }), upsert(`a-${mark}`, { n: 2 })],
    outbox: [
      { topic: 't', key: 'k', payload: null, notBeforeUtc: '2031-01-01T00:00:00Z' },
      { topic: 't', key: 'k', payload: ['now'] },
    ],
  });
  return leases.map(({ leaseToken }) => leaseToken);
}
