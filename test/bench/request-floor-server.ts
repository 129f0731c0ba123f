import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleServer } from '../../scripts/release-server.ts';
import { type ServerProcess, serverProcess } from '../support/server-process.ts';
import { releasedServer } from '../system/released-server.ts';
import { UNCHECKED } from './canonical-http.ts';
import { JsonClient } from './json-client.ts';
import { processorMs } from './processor.ts';

export const HANDLER = 'external';
/** All servers know these. One address sends all requests, so the permits are raised, here in the open. */
const SETTINGS = [
  UNCHECKED,
  'Server:LogLevel=error',
  'Server:CanonicalRateLimit:PermitLimit=100000',
  'Server:CanonicalRateLimit:WindowSeconds=1',
  `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`,
  'ExecutionRuntime:MaxActiveRuns=10000',
];
/** The frozen server of 0.5.0 has no such limits. */
const LIMITS = ['Execution', 'Worker', 'Public'].map((name) => `Server:${name}RateLimit:PermitLimit=1000000`);

/** A bundled server to start: its folder and settings. */
export interface Program {
  readonly folder: string;
  readonly settings: readonly string[];
}

export function frozenProgram(): Program {
  return { folder: releasedServer(), settings: SETTINGS };
}

/** The server of a checkout, bundled like the frozen one, so that only its code differs. The caller removes the folder. */
export async function checkoutProgram(checkout: string): Promise<Program> {
  const root = resolve(checkout);
  // The bundle finds packages from its place: those of the checkout, or of this one where it has none.
  const modules = [root, process.cwd()].map((place) => join(place, 'node_modules')).find(existsSync);
  const cache = join(modules ?? root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'svc-request-floor-'));
  for (const [name, text] of Object.entries(await bundleServer(root)))
    writeFileSync(join(folder, name), text);
  return { folder, settings: [...SETTINGS, ...LIMITS] };
}

export interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** A server in a process and a data folder of its own. */
export class FloorServer {
  readonly client: JsonClient;
  /** Leases that are not yet completed. */
  readonly leases: Lease[] = [];
  readonly #process: ServerProcess;
  readonly #data: string;

  private constructor(server: ServerProcess, data: string) {
    this.#process = server;
    this.#data = data;
    this.client = new JsonClient(server.address);
  }

  static async start({ folder, settings }: Program): Promise<FloorServer> {
    const data = await mkdtemp(join(tmpdir(), 'svc-bench-floor-'));
    const flags = settings.map((setting) => `--${setting}`);
    const child = spawn(process.execPath, [join(folder, 'server.mjs'), ...flags], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', SVC_DATA_DIR: data },
    });
    return new FloorServer(await serverProcess(child), data);
  }

  processorMs(): number {
    const time = processorMs(this.#process.child.pid);
    if (time === null) throw new Error('this system does not give the processor time of another process');
    return time;
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.#process.stop();
    await rm(this.#data, { recursive: true, force: true });
  }
}
