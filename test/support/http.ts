/** One tenant of a running server, over HTTP. */
export class HttpTenant {
  readonly #base: string;

  constructor(address: string, tenantId: string) {
    this.#base = `${address}/canonical/tenants/${tenantId}`;
  }

  /** Posts a body; returns the status and the parsed answer, also of a refusal. */
  async post<T>(path: string, body: unknown): Promise<{ status: number; body: T }> {
    const response = await fetch(`${this.#base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  }
}
