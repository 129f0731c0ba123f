import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';

/** Collections and records over HTTP, for tests that need some to attack. */

export type Headers = Readonly<Record<string, string>>;
type Call = (request: InjectedRequest) => Promise<InjectedResponse>;

export interface Answered {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

export class RecordSpace {
  readonly #call: Call;
  readonly #headers: Headers;
  readonly #query: string;

  /** `query` names product and tenant where the service asks for them. */
  constructor(call: Call, headers: Headers = {}, query = '') {
    this.#call = call;
    this.#headers = headers;
    this.#query = query;
  }

  /** A text goes out as it is: JSON texts that no serialiser writes are the point of some attacks. */
  async send(method: string, path: string, body?: object | string, headers: Headers = {}): Promise<Answered> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await this.#call({
      method,
      path,
      headers: { ...this.#headers, ...type, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const isProblem = answer.status >= 400 && answer.body.startsWith('{');
    return {
      status: answer.status,
      code: isProblem ? answer.json<{ code: string }>().code : undefined,
      text: answer.body,
    };
  }

  async admit(method: string, path: string, body?: object | string): Promise<string> {
    const answer = await this.#call({
      method,
      path: `${path}${this.#query}`,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    if (answer.status !== 202) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    const found = answer.json<{ id: string }>();
    return found.id;
  }

  /** Waits for the run behind a job. */
  async settled(id: string): Promise<{ readonly status: string; readonly failureClass: string | null }> {
    for (;;) {
      const { text } = await this.send('GET', `/execution/runs/${id}`);
      const run = JSON.parse(text) as { status: string; failureClass: string | null };
      if (!['queued', 'running', 'waiting'].includes(run.status)) return run;
      await nextTurn();
    }
  }

  async create(policy: object): Promise<void> {
    const run = await this.settled(await this.admit('POST', '/collections', policy));
    if (run.status !== 'succeeded') throw new Error(`the collection was not created: ${JSON.stringify(run)}`);
  }
}
