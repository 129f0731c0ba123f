import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { installPeer } from './install-peer.ts';
import { type Measurement, measure, medianOf, round } from './load.ts';
import { BenchServer } from './server.ts';

/**
 * Requests a second and memory of the MCP endpoint, beside the same tools on the official server library, and the endpoint of
 * the whole service. Each server is a process of its own, in the same run.
 */

const PEER = { name: '@modelcontextprotocol/node', version: '2.1.2' };
const CLIENTS = 16;
const TOOL = 'svc_collections_list_v1';

const questions: Readonly<Record<string, object>> = {
  'tools/call': { name: TOOL, arguments: {} },
  'tools/list': {},
  'server/discover': {},
};

export async function benchMcp({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-mcp-'));
  try {
    const refused = await installPeer(folder, PEER);
    const own = await child(['own'], seconds, rounds);
    const official = refused === null ? await child(['official', folder], seconds, rounds) : { refused };
    const service = await wholeService(seconds, rounds);
    return {
      bench: 'mcp',
      clients: CLIENTS,
      own,
      official,
      service,
      ...(refused === null ? { ratios: ratiosOf(own, official as Measured) } : {}),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly peakMiB: number;
  readonly methods: Readonly<Record<string, Measurement>>;
}

function ratiosOf(own: Measured, official: Measured): object {
  const methods = Object.keys(questions).map((method) => {
    const [ours, theirs] = [own, official].map(({ methods: all }) => all[method]?.perSecond ?? Number.NaN);
    return [method, round((ours ?? Number.NaN) / (theirs ?? Number.NaN))];
  });
  return { ...Object.fromEntries(methods), peakMiB: round(own.peakMiB / official.peakMiB) };
}

async function child(args: readonly string[], seconds: number, rounds: number): Promise<Measured> {
  const program = join(import.meta.dirname, 'mcp-child.ts');
  const server = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const url = await addressOf(server);
    return { methods: await measureAll(url, seconds, rounds), peakMiB: peakMiB(server) };
  } finally {
    server.kill();
  }
}

/** The service with its store, its policies and its limits. */
async function wholeService(seconds: number, rounds: number): Promise<Measured> {
  const server = await BenchServer.start(['Mcp:Enabled=true', 'Mcp:RateLimit:PermitLimit=1000000']);
  try {
    const methods = await measureAll(`${server.address}/mcp`, seconds, rounds);
    return { methods, peakMiB: peakMiB(server) };
  } finally {
    await server.stop();
  }
}

/** All methods in each round, so that the first one is not measured on a server that is still cold alone. */
async function measureAll(url: string, seconds: number, rounds: number) {
  const taken: Record<string, Measurement[]> = {};
  for (let at = 0; at < rounds; at += 1) {
    for (const [method, params] of Object.entries(questions)) {
      const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
      const call = () => ask(agent, url, method, params);
      const measured = await measure({ clients: CLIENTS, seconds, warmupSeconds: 1, call });
      (taken[method] ??= []).push(measured);
      agent.destroy();
    }
  }
  return Object.fromEntries(Object.entries(taken).map(([method, all]) => [method, medianOf(all)]));
}

/** Sends one message, and throws for an answer that is no result. */
function ask(agent: Agent, url: string, method: string, params: object): Promise<void> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...('name' in params ? { 'Mcp-Name': String(params.name) } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        if (answer.statusCode === 200 && text.includes('"result"')) resolve();
        else reject(new Error(`${method} was answered with ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function peakMiB({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, kiB = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kiB) / 1024);
}
