import { deepStrictEqual } from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { type CanonicalTransactionRequest, SvcClient } from '../../sdk/typescript/src/index.ts';
import { addressOf } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';

/**
 * The time that an SDK adds to a call: the same commit, sent by the SDK and by the HTTP client of its platform, in turn, to one trivial
 * server in a process of its own.
 */

const CALLS_A_SECOND = 600;
const PATH = '/canonical/tenants/bench/transactions';
const request: CanonicalTransactionRequest = {
  idempotencyKey: 'k',
  mutations: [
    {
      document: {
        tenantId: 'bench',
        documentType: 'claim',
        id: '1',
        schemaVersion: '1',
        data: { status: 'open', note: 'x'.repeat(800) },
        indexes: { status: 'open' },
      },
    },
  ],
};

interface Times {
  readonly sdk: number[];
  readonly bare: number[];
}

export async function benchSdk({ seconds, rounds }: BenchOptions): Promise<object> {
  const calls = Math.max(100, Math.round(seconds * CALLS_A_SECOND));
  const server = spawn(process.execPath, [resolve(import.meta.dirname, 'sdk-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const address = await addressOf(server);
    const typescript: Times[] = [];
    const python: Times[] = [];
    for (let round = 0; round < rounds; round++) {
      typescript.push(await inTypeScript(address, calls));
      python.push(await inPython(address, calls));
    }
    return {
      bench: 'sdk',
      measures:
        'a commit of 0.9 kB and its answer of 1.2 kB over a kept connection, in turn by the SDK and by fetch (TypeScript) ' +
        'or http.client (Python), JSON read and written by both; medians of a round, then over the rounds',
      calls,
      aims: { typescriptOverheadMs: 0.3, pythonOverheadMs: 1 },
      typescript: summary(typescript),
      python: summary(python),
    };
  } finally {
    server.kill();
  }
}

async function inTypeScript(address: string, calls: number): Promise<Times> {
  const client = new SvcClient({ baseUrl: address, apiKey: null, token: null });
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const ways = {
    sdk: (): Promise<unknown> => client.commitCanonicalTransaction('bench', request),
    bare: async (): Promise<unknown> => {
      const body = JSON.stringify(request);
      return (await fetch(address + PATH, { method: 'POST', headers, body })).json();
    },
  };
  deepStrictEqual(await ways.sdk(), await ways.bare());
  const times: Times = { sdk: [], bare: [] };
  for (let count = -calls / 4; count < calls; count++) {
    for (const name of ['sdk', 'bare'] as const) {
      const startedAt = performance.now();
      await ways[name]();
      if (count >= 0) times[name].push(performance.now() - startedAt);
    }
  }
  return times;
}

async function inPython(address: string, calls: number): Promise<Times> {
  const program = resolve(import.meta.dirname, 'sdk-overhead.py');
  const { stdout } = await promisify(execFile)(
    'python3',
    [program, address, String(calls), PATH, JSON.stringify(request)],
    {
      env: { ...process.env, PYTHONPATH: resolve('sdk/python/src'), PYTHONDONTWRITEBYTECODE: '1' },
      maxBuffer: 2 ** 26,
    },
  );
  return JSON.parse(stdout) as Times;
}

function summary(rounds: readonly Times[]): object {
  const sdkMs = median(rounds.map(({ sdk }) => median(sdk)));
  const bareMs = median(rounds.map(({ bare }) => median(bare)));
  const overheads = rounds.map(({ sdk, bare }) => median(sdk) - median(bare));
  return {
    sdkMs: thousandths(sdkMs),
    bareMs: thousandths(bareMs),
    overheadMs: thousandths(median(overheads)),
    overheadMsOfRounds: overheads.map(thousandths),
    ratio: Math.round((sdkMs / bareMs) * 100) / 100,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The overhead is a part of a millisecond. */
function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}
