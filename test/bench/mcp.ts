import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions } from './canonical-http.ts';
import { installPeer } from './install-peer.ts';
import { measure, medianNumber, round } from './load.ts';
import { ask, type Era, type Question, query, questions } from './mcp-requests.ts';
import { type McpServer, startTools, startWhole } from './mcp-servers.ts';
import { orderOf } from './request-floor.ts';

/**
 * Requests a second and memory of the MCP endpoint in both eras: beside the same tools on the official server library, beside the
 * checkout `before`, which has the newest revision alone, and with the whole service behind it.
 */

const PEER = { name: '@modelcontextprotocol/node', version: '2.1.2' };
const CLIENTS = 16;
const BOTH: readonly Era[] = ['2026-07-28', '2025-11-25'];

type Servers = Readonly<Record<string, McpServer>>;
/** Requests a second of each round, by era and method, then by server. */
type Rates = Record<string, Record<string, number[]>>;

export async function benchMcp({ seconds, rounds }: BenchOptions, before?: string): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-mcp-'));
  const servers: Record<string, McpServer> = {};
  try {
    const refused = await installPeer(folder, PEER);
    servers['own'] = await startTools(['own'], BOTH);
    if (refused === null) servers['official'] = await startTools(['official', folder], BOTH);
    servers['service'] = await startWhole(BOTH);
    if (before !== undefined) {
      servers['ownBefore'] = await startTools(['own'], ['2026-07-28'], before);
      servers['serviceBefore'] = await startWhole(['2026-07-28'], before);
    }
    const bytes = await answerBytes(servers);
    const rates: Rates = {};
    for (let at = 0; at < rounds; at += 1) await measureRound(servers, at, seconds, rates);
    return {
      bench: 'mcp',
      clients: CLIENTS,
      ...(refused === null ? {} : { official: { refused } }),
      perSecond: mapped(rates, (byServer) => mapped(byServer, (all) => round(medianNumber(all)))),
      ofOfficial: ratiosOf(rates, 'own', 'official'),
      ofBefore: {
        own: ratiosOf(rates, 'own', 'ownBefore'),
        service: ratiosOf(rates, 'service', 'serviceBefore'),
      },
      bytes,
      peakMiB: mapped(servers, (server) => server.peakMiB()),
    };
  } finally {
    for (const server of Object.values(servers)) await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The questions of a server in an era. */
function questionsOf({ hasRecords }: McpServer, era: Era): Readonly<Record<string, Question>> {
  return hasRecords ? { ...questions[era], query } : questions[era];
}

/** All servers answer one question after another, in an order that changes, so that other load affects all of them. */
async function measureRound(servers: Servers, at: number, seconds: number, rates: Rates): Promise<void> {
  for (const era of BOTH) {
    for (const name of [...Object.keys(questions[era]), 'query']) {
      for (const [server, one] of orderOf(Object.entries(servers), at)) {
        const question = one.eras.includes(era) ? questionsOf(one, era)[name] : undefined;
        if (question === undefined) continue;
        const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
        const call = async () => void (await ask(agent, one.url, era, question));
        const { perSecond } = await measure({ clients: CLIENTS, seconds, warmupSeconds: 1, call });
        ((rates[`${era} ${name}`] ??= {})[server] ??= []).push(perSecond);
        agent.destroy();
      }
    }
  }
}

/** The bytes of the answers whose length is a cost of its own. */
async function answerBytes(servers: Servers): Promise<Readonly<Record<string, number>>> {
  const agent = new Agent();
  const bytes: Record<string, number> = {};
  for (const [server, one] of Object.entries(servers))
    for (const era of one.eras)
      for (const name of ['tools/list', 'query']) {
        const question = questionsOf(one, era)[name];
        if (question !== undefined)
          bytes[`${era} ${name} ${server}`] = await ask(agent, one.url, era, question);
      }
  agent.destroy();
  return bytes;
}

/** The median of the ratios of the rounds, for each question that both servers answer. */
function ratiosOf(rates: Rates, server: string, beside: string): Readonly<Record<string, number>> {
  const ratios = Object.entries(rates).flatMap(([name, { [server]: ours = [], [beside]: theirs = [] }]) => {
    const each = ours.map((rate, at) => rate / (theirs[at] ?? Number.NaN));
    return theirs.length === 0 ? [] : [[name, round(medianNumber(each))] as const];
  });
  return Object.fromEntries(ratios);
}

function mapped<T, U>(
  values: Readonly<Record<string, T>>,
  map: (value: T) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
