import { afterEach, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { loadConfiguration } from '../config/load.ts';
import {
  json,
  type ModelServer,
  type Reply,
  startModelServer,
} from '../providers/outgoing/model-server.fixture.ts';
import { LOCAL_RERANKER } from '../retrieval/reranker.ts';
import { DamageLog } from '../store/damage.ts';
import { getTrace } from '../traces/read-traces.ts';
import { machine } from './machine.ts';
import { retrievalPartsOf } from './retrieval-parts.ts';

let server: ModelServer | undefined;
afterEach(() => server?.close());

async function partsWith(reply: Reply, switches: object = { EnableLiveTargets: true }, world = machine) {
  server = await startModelServer(reply);
  const common = { Kind: 'openai-compatible', BaseAddress: `http://127.0.0.1:${server.port}/v1`, Model: 'm' };
  const entries = [
    { ...common, Id: 'ranks', Capabilities: ['ai.rerank'] },
    { ...common, Id: 'chat', Capabilities: ['ai.chat'] },
  ];
  const file = { Providers: { ...switches, ...Object.fromEntries(entries.entries()) } };
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  const { settings, faults } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const store = new MemoryStore(new MemoryDatabase(), {});
  const opened = { get: () => Promise.resolve(store), close: () => Promise.resolve() };
  return retrievalPartsOf({
    settings,
    store: opened,
    world,
    log: () => undefined,
    damage: new DamageLog(() => undefined),
    layers: new Map(),
  });
}

const payload = {
  query: 'fox',
  candidates: [
    { id: 'a', text: 'the bank of a river' },
    { id: 'b', text: 'the brown fox' },
  ],
  limit: 2,
};
const call = {
  space: 'space',
  correlationId: 'c-1',
  mode: 'advisory',
  timeoutSeconds: null,
  maxOutputBytes: null,
  signal: AbortSignal.timeout(60_000),
};
const ranked = {
  results: [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.1 },
  ],
};

test('the reranker of the service itself is found by its id and without one', async () => {
  const { rerankers } = await partsWith(json(ranked));
  for (const id of [null, LOCAL_RERANKER]) expect(rerankers.find(id)?.provider).toBe(LOCAL_RERANKER);
  const answer = await rerankers.find(null)?.rerank(payload, call);
  expect(answer).toMatchObject({ traceId: null, items: [{ id: 'b' }, { id: 'a' }] });
  expect(server?.received).toEqual([]);
});

test('a provider of the settings ranks over the network, and its run has a trace', async () => {
  const { rerankers, traces } = await partsWith(json(ranked));
  const reranker = rerankers.find('ranks');
  expect([reranker?.inputBytesMax('advisory'), reranker?.inputBytesMax('magic')]).toEqual([65_536, null]);
  const answer = await reranker?.rerank(payload, call);
  expect(answer).toMatchObject({
    items: [
      { id: 'b', score: 0.9 },
      { id: 'a', score: 0.1 },
    ],
  });
  const trace = await getTrace(traces, 'space', answer?.traceId ?? '');
  expect(trace).toMatchObject({ operation: 'provider.run', adapter: 'ranks' });
  expect(JSON.stringify(trace)).not.toContain('brown');
});

test('its failure is an answer, of which nothing is repeated that the provider has said', async () => {
  const { rerankers } = await partsWith((response) => {
    response.writeHead(401).end('the key sk-secret is wrong');
  });
  const answer = await rerankers.find('ranks')?.rerank(payload, call);
  expect(answer).toMatchObject({ failure: { failureClass: 'auth' } });
  expect(JSON.stringify(answer)).not.toContain('sk-secret');
});

test('a provider that is not enabled fails, and one that cannot rank is not found', async () => {
  const { rerankers } = await partsWith(json(ranked), {});
  expect([rerankers.find('chat'), rerankers.find('absent')]).toEqual([null, null]);
  const answer = await rerankers.find('ranks')?.rerank(payload, call);
  expect(answer).toMatchObject({ failure: { providerStatus: 'provider_disabled' } });
  expect(server?.received).toEqual([]);
});

test('a refusal of the service for too many runs says that it passes, and when; one of the request does not', async () => {
  const world = { ...machine, clock: { now: () => Date.UTC(2026, 0, 2, 12, 0, 10) } };
  const { rerankers } = await partsWith(json(ranked), {}, world);
  const local = rerankers.find('local-deterministic-ai');
  for (let run = 0; run < 60; run += 1)
    expect(await local?.rerank(payload, call)).toMatchObject({ items: [{ id: 'b' }, { id: 'a' }] });
  expect(await local?.rerank(payload, call)).toMatchObject({
    failure: { failureClass: 'rate_limit', providerStatus: 'rate_limited' },
    passing: { failureClass: 'rate_limit', isOfGuard: true, retryAfterMs: 50_000 },
  });
  const refused = await local?.rerank(payload, { ...call, mode: 'magic' });
  expect(refused).toMatchObject({ failure: { providerStatus: 'unknown_mode' } });
  expect(refused).not.toHaveProperty('passing');
});
