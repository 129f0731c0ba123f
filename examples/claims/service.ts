/** The calls of the example, over plain HTTP as in any language. */

export const TENANT = 'claims-desk';

export interface EventPayload {
  readonly claimNumber: string;
  readonly revision: number;
  readonly status: string;
  readonly reserveCents: number;
}

export class Service {
  readonly #base: string;

  constructor(address: string, tenant = TENANT) {
    this.#base = `${address}/canonical/tenants/${tenant}`;
  }

  async commit(transaction: object): Promise<{ replayed: boolean; documents: { revision: number }[] }> {
    return (await this.#post('/transactions', transaction)).json() as Promise<never>;
  }

  /** The number of events in the state, or at least one page of them. */
  async count(state: string): Promise<number> {
    let total = 0;
    let continuationToken: string | null = null;
    do {
      const page = (await (
        await this.#post('/outbox/query', { state, limit: 1000, continuationToken })
      ).json()) as {
        items: unknown[];
        continuationToken: string | null;
      };
      total += page.items.length;
      ({ continuationToken } = page);
    } while (continuationToken !== null);
    return total;
  }

  async read(
    id: string,
  ): Promise<{ revision: number; deleted: boolean; data: { status: string; reserveCents: number } | null }> {
    const answer = await this.#post('/documents/read', { documentType: 'claim', id, includeDeleted: true });
    return answer.json() as Promise<never>;
  }

  async #post(path: string, body: object): Promise<Response> {
    const response = await fetch(`${this.#base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
    return response;
  }
}
