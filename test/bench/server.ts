import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DOCUMENTS, documentId, TENANT, upsert } from './workload.ts';

/** A service process of its own on a folder of its own, spoken to over kept-alive connections. */
export class BenchServer {
  readonly address: string;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(child: ChildProcess, address: string, folder: string) {
    this.#child = child;
    this.address = address;
    this.folder = folder;
  }

  /** Starts the embedded server; `settings` are `Key=value` pairs of its command line. */
  static async start(settings: readonly string[] = []): Promise<BenchServer> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    // One address sends all the load, so its permit limit is raised, here in the open.
    const flags = [
      'Server:CanonicalRateLimit:PermitLimit=100000',
      'Server:CanonicalRateLimit:WindowSeconds=1',
    ];
    const child = spawn(
      process.execPath,
      ['functions/embedded.ts', ...[...flags, ...settings].map((setting) => `--${setting}`)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, PORT: '0', SVC_DATA_DIR: folder },
      },
    );
    return new BenchServer(child, await addressOf(child), folder);
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
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The address in the line that a server prints when it is ready. */
export async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the server has no output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error('the server did not start');
}
