import { afterEach, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { loadConfiguration } from '../config/load.ts';
import {
  json,
  type ModelServer,
  type Received,
  type Reply,
  startModelServer,
} from '../providers/outgoing/model-server.fixture.ts';
import { qualify } from '../providers/qualify.ts';
import { rerankWith } from '../providers/rerank.ts';
import { runCapability } from '../providers/run-capability.ts';
import { DamageLog } from '../store/damage.ts';
import { getTrace } from '../traces/read-traces.ts';
import { machine } from './machine.ts';
import { capabilityPartsOf, providerRegistryOf } from './provider-parts.ts';
import { tracePartsOf } from './trace-parts.ts';

let server: ModelServer;
afterEach(() => server.close());

/** Answers each operation of OpenAI's interface. */
const answering: Reply = (response, received) => json(answerTo(received))(response, received);

function answerTo({ url, body }: Received): object {
  const { input = [] } = JSON.parse(body) as { readonly input?: readonly string[] };
  if (url === '/v1/embeddings')
    return { data: input.map((_, index) => ({ index, embedding: [index, 0.5, 0.25] })) };
  if (url === '/v1/rerank') return { results: [{ index: 1, relevance_score: 0.9 }] };
  const message = { role: 'assistant', content: 'Hi' };
  const usage = { prompt_tokens: 1_000, completion_tokens: 500 };
  return { choices: [{ finish_reason: 'stop', message }], usage };
}

async function partsWith(switches: Readonly<Record<string, unknown>>, reply: Reply = answering) {
  server = await startModelServer(reply);
  const common = { Kind: 'openai-compatible', BaseAddress: `http://127.0.0.1:${server.port}/v1`, Model: 'm' };
  const entries = [
    { ...common, Id: 'vectors', Dimensions: 3 },
    { ...common, Id: 'ranks', Capabilities: ['ai.rerank'], DisplayName: 'Ranks', QueueSeconds: 60 },
    { ...common, Id: 'chat', Capabilities: ['ai.toolPlan', 'ai.chat'], InputPrice: 0.15, OutputPrice: 0.6 },
    { Id: 'short', Kind: 'deterministic', Model: 'local-token-hash-embedding-v1', Dimensions: 16 },
    {
      Id: 'cloud',
      Kind: 'vertex',
      ProjectId: 'project',
      LocationId: 'global',
      Model: 'g',
      Capabilities: ['ai.chat'],
    },
  ];
  const file = { Providers: { ...switches, ...Object.fromEntries(entries.entries()) } };
  const readFile = (path: string) => (path === 'svcsettings.json' ? JSON.stringify(file) : undefined);
  const { settings, faults } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const store = new MemoryStore(new MemoryDatabase(), {});
  const opened = { get: () => Promise.resolve(store), close: () => Promise.resolve() };
  const parts = {
    settings,
    store: opened,
    world: machine,
    log: () => undefined,
    damage: new DamageLog(() => undefined),
    layers: new Map(),
  };
  return {
    registry: providerRegistryOf(parts),
    capabilities: capabilityPartsOf(parts),
    traces: tracePartsOf(parts),
  };
}

const run = (capability: string, payload: object) => ({
  request: { capability, payload: JSON.parse(JSON.stringify(payload)) as never },
  space: 'space',
  id: 'id',
  isJob: false,
  traceId: 'trace-1',
  correlationId: 'c',
  signal: AbortSignal.timeout(60_000),
  memory: null,
});

test('the settings say how long jobs wait for a place; without them they wait as all runs do', async () => {
  const { registry } = await partsWith({ EnableLiveTargets: true });
  const waits = ['ranks', 'chat'].map((id) => registry.find(id)?.live?.queueSeconds);
  expect(waits).toEqual([60, undefined]);
});

test('the registry has the providers of the service and the live ones of the settings', async () => {
  const { registry } = await partsWith({ EnableLiveTargets: true });
  expect(
    registry.all.map(({ target, live }) => [
      target.id,
      target.capabilities.join(),
      live !== null,
      target.auth,
    ]),
  ).toEqual([
    ['local-deterministic-ai', expect.stringContaining('ai.chat,ai.extract'), false, 'none'],
    ['local-token-overlap-reranker', 'ai.rerank', false, 'none'],
    ['vectors', 'ai.embedding', true, 'none'],
    ['ranks', 'ai.rerank', true, 'none'],
    ['chat', 'ai.chat,ai.toolPlan', true, 'none'],
    ['cloud', 'ai.chat', true, 'google-credentials'],
  ]);
  expect(registry.find('ranks')?.target.displayName).toBe('Ranks');
  expect(registry.find('short')).toBeUndefined();
});

test('a live provider that is not enabled has no means, and its run is refused', async () => {
  const { registry, capabilities } = await partsWith({});
  const chat = registry.find('chat');
  if (chat === undefined) throw new Error('the registry does not know it');
  expect([chat.live, chat.target.isEnabled]).toEqual([null, false]);
  const messages = [{ role: 'user', content: 'hello' }];
  const { outcome } = await runCapability(capabilities, chat, run('ai.chat', { messages }));
  expect(outcome).toMatchObject({ status: 'NotConfigured', providerStatus: 'provider_disabled' });
  expect(server.received).toEqual([]);
});

test('a run calls the model, and its trace tells the cost and no content', async () => {
  const { registry, capabilities, traces } = await partsWith({ EnableLiveTargets: 'yes' });
  const chat = registry.find('chat');
  if (chat === undefined) throw new Error('the registry does not know it');
  const messages = [{ role: 'user', content: 'hello there' }];
  const { outcome } = await runCapability(capabilities, chat, run('ai.chat', { messages }));
  expect(outcome).toMatchObject({ status: 'Succeeded', output: { message: { content: 'Hi' } } });
  const trace = await getTrace(traces, 'space', 'trace-1');
  expect(trace).toMatchObject({
    operation: 'provider.run',
    adapter: 'chat',
    resultSummary: { status: 'Succeeded', usage: { inputTokens: 1_000, costUsd: 0.00045 } },
  });
  expect(JSON.stringify(trace)).not.toContain('hello there');
});

test('vectors and ranks come over the network too', async () => {
  const { registry, capabilities } = await partsWith({ EnableLiveTargets: 'yes' });
  const [vectors, ranks] = [registry.find('vectors'), registry.find('ranks')];
  if (vectors === undefined || ranks === undefined) throw new Error('the registry does not know them');
  const embedded = await runCapability(capabilities, vectors, run('ai.embedding', { texts: ['a', 'b'] }));
  expect(embedded.outcome.output).toMatchObject({ dimensions: 3, items: [{}, { values: [1, 0.5, 0.25] }] });
  const rerank = rerankWith(capabilities, ranks, () => 'trace-2');
  const candidates = [
    { id: 'x', text: 'X' },
    { id: 'y', text: 'Y' },
  ];
  const call = { space: 'space', correlationId: 'c', signal: AbortSignal.timeout(60_000) };
  const { items } = await rerank({ query: 'q', candidates, limit: 1 }, call);
  expect(items).toEqual([{ id: 'y', rank: 1, score: 0.9 }]);
});

test('a qualification asks for vectors of the length that the settings say', async () => {
  const { registry, capabilities } = await partsWith(
    { EnableLiveTargets: 'yes' },
    json({ data: [{ index: 0, embedding: [1] }] }),
  );
  const vectors = registry.find('vectors');
  if (vectors === undefined) throw new Error('the registry does not know it');
  let traces = 0;
  const [proof] = await qualify(capabilities, vectors, {
    capabilities: vectors.target.capabilities,
    mode: 'mechanics',
    space: 'space',
    correlationId: 'c',
    signal: AbortSignal.timeout(60_000),
    newTraceId: () => `trace-of-${(traces += 1)}`,
  });
  expect(proof).toMatchObject({ capability: 'ai.embedding', status: 'failed', lastValidatedAt: null });
});
