import { Agent, request } from 'node:http';

/** Speaks JSON to one server over kept-alive connections. */
export class JsonClient {
  readonly address: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(address: string) {
    this.address = address;
  }

  /** The answer's text, empty for 204; throws for anything but 2xx. */
  send(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<string> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers: Record<string, string | number> =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.address}${path}`,
        { method, agent: this.#agent, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString();
            if ((response.statusCode ?? 500) < 300) resolve(answer);
            else reject(new Error(`${path} was answered ${response.statusCode}: ${answer}`));
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  post(path: string, body: object): Promise<string> {
    return this.send('POST', path, body);
  }

  async postJson<T>(path: string, body: object): Promise<T> {
    return JSON.parse(await this.post(path, body)) as T;
  }

  async getJson<T>(path: string): Promise<T> {
    return JSON.parse(await this.send('GET', path)) as T;
  }

  close(): void {
    this.#agent.destroy();
  }
}
