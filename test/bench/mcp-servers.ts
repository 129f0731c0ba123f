import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { serverProcess, startServer } from '../support/server-process.ts';
import { UNCHECKED } from './canonical-http.ts';
import { requireEnd } from './execution-start.ts';
import { JsonClient } from './json-client.ts';
import type { Era } from './mcp-requests.ts';
import { processorMs } from './processor.ts';
import { BENCH_POLICY, recordText } from './records-texts.ts';

/** A server of the MCP benchmark, in a process of its own. */
export interface McpServer {
  readonly url: string;
  readonly eras: readonly Era[];
  /** Whether it has the collection `bench`. */
  readonly hasRecords: boolean;
  readonly peakMiB: () => number;
  readonly processorMs: () => number;
  readonly stop: () => Promise<void>;
}

const RECORDS = 200;

/** The tools of the contract with answers that cost nothing: on the endpoint of a checkout, or on the official library. */
export async function startTools(
  args: readonly string[],
  eras: readonly Era[],
  checkout = '.',
): Promise<McpServer> {
  const child = spawn(process.execPath, ['test/bench/mcp-child.ts', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: resolve(checkout),
  });
  const server = await serverProcess(child);
  return {
    url: server.address,
    eras,
    hasRecords: false,
    peakMiB: () => peakMiB(child),
    processorMs: () => processorMs(child.pid) ?? Number.NaN,
    stop: () => server.kill(),
  };
}

/** The service of a checkout with its store, its policies and its limits. */
export async function startWhole(eras: readonly Era[], checkout = '.'): Promise<McpServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-mcp-'));
  const settings = [UNCHECKED, 'Mcp:Enabled=true', 'Mcp:RateLimit:PermitLimit=1000000'];
  const server = await startServer({ SVC_DATA_DIR: folder }, settings, checkout);
  await writeRecords(server.address);
  return {
    url: `${server.address}/mcp`,
    eras,
    hasRecords: true,
    peakMiB: () => peakMiB(server.child),
    processorMs: () => processorMs(server.child.pid) ?? Number.NaN,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeRecords(address: string): Promise<void> {
  const client = new JsonClient(address);
  const created = await client.postJson<{ id: string }>('/collections', BENCH_POLICY);
  await requireEnd(client, created.id);
  const records = Array.from({ length: RECORDS }, (_, n) => JSON.parse(recordText(n)) as object);
  const written = await client.postJson<{ id: string }>('/collections/bench/records/batch', { records });
  await requireEnd(client, written.id);
  client.close();
}

function peakMiB({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, kiB = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kiB) / 1024);
}
