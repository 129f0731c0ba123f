import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { JsonClient } from './json-client.ts';
import { DOCUMENTS, documentId, TENANT, upsert } from './workload.ts';

/** A service process of its own on a folder of its own, spoken to over kept-alive connections. */
export class BenchServer {
  readonly address: string;
  readonly folder: string;
  readonly #server: ServerProcess;
  readonly client: JsonClient;

  private constructor(server: ServerProcess, folder: string) {
    this.#server = server;
    this.address = server.address;
    this.folder = folder;
    this.client = new JsonClient(server.address);
  }

  /** Starts the embedded server; `settings` are `Key=value` pairs of its command line. */
  static async start(settings: readonly string[] = []): Promise<BenchServer> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    return new BenchServer(await startServer({ SVC_DATA_DIR: folder }, settings), folder);
  }

  get pid(): number | undefined {
    return this.#server.child.pid;
  }

  /** Posts a body to a route of the tenant and gives the answer's text; throws for anything but 2xx. */
  post(path: string, body: object): Promise<string> {
    return this.client.post(`/canonical/tenants/${TENANT}${path}`, body);
  }

  async preload(): Promise<void> {
    for (let at = 0; at < DOCUMENTS; at += 100) {
      const mutations = Array.from({ length: 100 }, (_, n) => upsert(documentId(at + n)));
      await this.post('/transactions', { idempotencyKey: `preload-${at}`, mutations });
    }
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.#server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
