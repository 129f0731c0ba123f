import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { DOCUMENTS, documentId, TENANT, upsert } from './workload.ts';

/** A service process of its own on a folder of its own, spoken to over kept-alive connections. */
export class BenchServer {
  readonly address: string;
  readonly folder: string;
  readonly #server: ServerProcess;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(server: ServerProcess, folder: string) {
    this.#server = server;
    this.address = server.address;
    this.folder = folder;
  }

  /** Starts the embedded server; `settings` are `Key=value` pairs of its command line. */
  static async start(settings: readonly string[] = []): Promise<BenchServer> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    return new BenchServer(await startServer({ SVC_DATA_DIR: folder }, settings), folder);
  }

  /** Posts a body to a route of the tenant and gives the answer's text; throws for anything but 2xx. */
  post(path: string, body: object): Promise<string> {
    const text = JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.address}/canonical/tenants/${TENANT}${path}`,
        {
          method: 'POST',
          agent: this.#agent,
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        },
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

  async preload(): Promise<void> {
    for (let at = 0; at < DOCUMENTS; at += 100) {
      const mutations = Array.from({ length: 100 }, (_, n) => upsert(documentId(at + n)));
      await this.post('/transactions', { idempotencyKey: `preload-${at}`, mutations });
    }
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.#server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
