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
/** Figures of each round, by era and method, then by server. */
type Figures = Record<string, Record<string, number[]>>;
interface Measured {
  readonly perSecond: Figures;
  /** Processor time of the server for a request, which other load on the machine changes least. */
  readonly processorMicros: Figures;
}

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
    const measured: Measured = { perSecond: {}, processorMicros: {} };
    for (let at = 0; at < rounds; at += 1) await measureRound(servers, at, seconds, measured);
    return {
      bench: 'mcp',
      clients: CLIENTS,
      ...(refused === null ? {} : { official: { refused } }),
      ...mapped({ ...measured }, (figures) =>
        mapped(figures, (byServer) => mapped(byServer, (all) => round(medianNumber(all)))),
      ),
      // Above 1: more requests than the other, and less processor time a request.
      ofOfficial: ratiosOf(measured, 'own', 'official'),
      ofBefore: {
        own: ratiosOf(measured, 'own', 'ownBefore'),
        service: ratiosOf(measured, 'service', 'serviceBefore'),
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
async function measureRound(
  servers: Servers,
  at: number,
  seconds: number,
  measured: Measured,
): Promise<void> {
  for (const era of BOTH) {
    for (const name of [...Object.keys(questions[era]), 'query']) {
      for (const [server, one] of orderOf(Object.entries(servers), at)) {
        const question = one.eras.includes(era) ? questionsOf(one, era)[name] : undefined;
        if (question === undefined) continue;
        const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
        let calls = 0;
        const call = async () => {
          await ask(agent, one.url, era, question);
          calls += 1;
        };
        const before = one.processorMs();
        const { perSecond } = await measure({ clients: CLIENTS, seconds, warmupSeconds: 1, call });
        const spent = ((one.processorMs() - before) * 1000) / calls;
        ((measured.perSecond[`${era} ${name}`] ??= {})[server] ??= []).push(perSecond);
        ((measured.processorMicros[`${era} ${name}`] ??= {})[server] ??= []).push(spent);
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

/** The medians of the ratios of the rounds, for each question that both servers answer. */
function ratiosOf({ perSecond, processorMicros }: Measured, server: string, beside: string) {
  return {
    perSecond: ratios(perSecond, server, beside),
    processorTime: ratios(processorMicros, beside, server),
  };
}

function ratios(figures: Figures, over: string, under: string): Readonly<Record<string, number>> {
  const found = Object.entries(figures).flatMap(([name, { [over]: ours = [], [under]: theirs = [] }]) => {
    const each = ours.map((figure, at) => figure / (theirs[at] ?? Number.NaN));
    const both = ours.length > 0 && theirs.length > 0;
    return both ? [[name, round(medianNumber(each))] as const] : [];
  });
  return Object.fromEntries(found);
}

function mapped<T, U>(
  values: Readonly<Record<string, T>>,
  map: (value: T) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
