import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { guardedEmbedder } from '../../functions/embeddings/guarded-embedder.ts';
import { openAiEmbedder } from '../../functions/embeddings/openai-embedder.ts';
import { vertexEmbedder } from '../../functions/embeddings/vertex-embedder.ts';
import type { World } from '../../functions/kernel/world.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { GUARD_SCOPE, guardKey, stateIn } from '../../functions/providers/guard-record.ts';
import type { ModelBounds } from '../../functions/providers/live/model.ts';
import { openAiModel } from '../../functions/providers/live/openai-model.ts';
import { vertexModel } from '../../functions/providers/live/vertex-model.ts';
import { ModelWorld, TIMEOUT_MS } from '../../functions/providers/outgoing/model-server.fixture.ts';
import { type ProviderGuard, providerGuard } from '../../functions/providers/provider-guard.ts';
import { reportedTokens } from '../../functions/providers/rules/usage.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';

/** Answers of a hostile provider, over every adapter that calls one. */

const DIMENSIONS = 4_096;
const OUTPUT_TOKENS = 64;
const root = join(import.meta.dirname, '../..');
const signal = new AbortController().signal;
const bounds: ModelBounds = { timeoutMs: TIMEOUT_MS, answerBytesMax: 4_000_000, signal };
const prompt = { system: null, messages: [{ role: 'user', content: 'x' }], wantsJson: false } as const;
const vector = Array.from({ length: DIMENSIONS }, () => 0.5);

interface Adapter {
  readonly file: string;
  /** A good answer that reports `tokens`. */
  readonly good: (tokens: number) => object;
  readonly call: (world: World, guard: ProviderGuard, space: string) => Promise<unknown>;
}

const openAi = (world: World) =>
  openAiModel(world, {
    baseAddress: 'https://models.example/v1',
    modelId: 'm',
    outputTokensMax: OUTPUT_TOKENS,
    apiKey: () => Promise.resolve(null),
  });
const google = {
  project: 'p',
  location: 'global',
  modelId: 'm',
  credentials: () => Promise.resolve(new Headers()),
};
const embedding = {
  provider: 'mine',
  modelId: 'm',
  dimensions: DIMENSIONS,
  prefixes: { query: null, passage: null, symmetric: null },
  timeoutMs: TIMEOUT_MS,
};

function asked<Answer>(ask: (world: World, own: ModelBounds) => Promise<Answer>): Adapter['call'] {
  return (world, guard, space) =>
    guard.within({ space, tokens: 10 }, (admit, used) =>
      ask(world, {
        ...bounds,
        admit,
        took: (usage) => {
          const tokens = reportedTokens(usage);
          if (tokens !== null) used(tokens, usage.excessTokens);
        },
      }),
    );
}

const adapters: Readonly<Record<string, Adapter>> = {
  'chats of OpenAI': {
    file: 'functions/providers/live/openai-model.ts',
    good: (tokens) => ({
      choices: [{ finish_reason: 'stop', message: { content: 'Hi' } }],
      usage: { prompt_tokens: tokens, completion_tokens: tokens },
    }),
    call: asked((world, own) => openAi(world).complete(prompt, own)),
  },
  'ranks beside OpenAI': {
    file: 'functions/providers/live/openai-model.ts',
    good: (tokens) => ({ results: [{ index: 0, relevance_score: 1 }], usage: { total_tokens: tokens } }),
    call: asked((world, own) => openAi(world).rank({ query: 'q', documents: ['d'], limit: 1 }, own)),
  },
  'chats of Vertex AI': {
    file: 'functions/providers/live/vertex-model.ts',
    good: (tokens) => ({
      candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: tokens },
    }),
    call: asked((world, own) =>
      vertexModel(world, { ...google, outputTokensMax: OUTPUT_TOKENS }).complete(prompt, own),
    ),
  },
  'vectors of OpenAI': {
    file: 'functions/embeddings/openai-embedder.ts',
    good: (tokens) => ({ data: [{ index: 0, embedding: vector }], usage: { prompt_tokens: tokens } }),
    call: (world, guard, space) => {
      const apiKey = () => Promise.resolve(null);
      const options = { ...embedding, baseAddress: 'https://models.example', sendsDimensions: true, apiKey };
      const embedder = guardedEmbedder(openAiEmbedder(world, options), guard);
      return embedder.embed(['x'], { purpose: 'query', signal, space });
    },
  },
  'vectors of Vertex AI': {
    file: 'functions/embeddings/vertex-embedder.ts',
    good: (tokens) => ({
      predictions: [{ embeddings: { values: vector, statistics: { token_count: tokens } } }],
    }),
    call: (world, guard, space) =>
      guardedEmbedder(vertexEmbedder(world, { ...google, ...embedding }), guard).embed(['x'], {
        purpose: 'query',
        signal,
        space,
      }),
  },
};

const DAY = { callsPerMinute: null, tokensPerDayMax: 100_000, spaceSharePercent: 50 };

function stageOf({ call }: Adapter, answer: () => Response) {
  const opened = new MemoryStore(new MemoryDatabase());
  const store = () => Promise.resolve(opened);
  const world = Object.assign(new ModelWorld(), { http: () => Promise.resolve(answer()) });
  const guard = providerGuard({ store, clock: world.clock, provider: 'mine', limits: DAY });
  return {
    call: (space = 'a') => call(world, guard, space),
    failure: (space = 'a') =>
      call(world, guard, space).then(
        () => null,
        (error: unknown) => error,
      ),
    async tokensOfAll() {
      const key = guardKey('mine');
      const found = await opened.query(GUARD_SCOPE, { by: 'keys', keys: [{ key, view: 'head' }] });
      return stateIn(found.records[0]?.head).tokens;
    },
  };
}

const answerOf = (body: string | Uint8Array<ArrayBuffer>) =>
  new Response(body, { headers: { 'content-type': 'application/json' } });

test('every file that calls a provider has its row', () => {
  const files = globSync('functions/**/*.ts', { cwd: root }).filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      /^(?!export).*\bcallProvider\(/m.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(files.sort()).toEqual([...new Set(Object.values(adapters).map(({ file }) => file))].sort());
});

describe.each(Object.entries(adapters))('a hostile answer for %s', (_, adapter) => {
  const good = JSON.stringify(adapter.good(9));

  test('is taken with floats that a double rounds', async () => {
    const stage = stageOf(adapter, () => answerOf(`{"more":[0.1234567890123456789,1e-400],${good.slice(1)}`));
    await stage.call();
    expect(await stage.tokensOfAll()).toBe(reportedBy(good));
  });

  test('is accepted with half a character in a member that is not read', async () => {
    const stage = stageOf(adapter, () => answerOf(`{"more":[[[{"a":{"b":"\\ud800"}}]]],${good.slice(1)}`));
    await stage.call();
    expect(await stage.tokensOfAll()).toBe(reportedBy(good));
  });

  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  test.each<[string, string]>([
    ['65 levels', nested(64)],
    ['100,000 levels', nested(100_000)],
    ['20,001 lists', `[${'[],'.repeat(20_000)}[]]`],
    ['20,001 objects', `[${'{},'.repeat(20_000)}{}]`],
    ['20,001 members', `{${Array.from({ length: 20_001 }, (__, n) => `"${n}":1`).join(',')}}`],
    ['a long list of numbers in a list', `[[${'1,'.repeat(600_000)}1]]`],
    ['a long text', `"${'x'.repeat(1_100_000)}"`],
    ['a member twice', '{"a":1,"a":2}'],
    ['the member __proto__', '{"__proto__":{"isAdmin":true}}'],
    ['a number beyond a double', '1e999'],
    ['an integer that a double changes', '9007199254740993'],
    ['no value', ''],
  ])('that holds %s is refused', async (__, value) => {
    const stage = stageOf(adapter, () => answerOf(`{"more":${value},${good.slice(1)}`));
    expect(await stage.failure()).toBeInstanceOf(ProviderFailure);
    // An embedder takes fewer bytes than the two long ones have.
    const words = value.length > 1_000_000 ? /^(invalid_json|output_limit)$/ : /^invalid_json$/;
    expect(await stage.failure()).toMatchObject({
      failureClass: 'schema',
      isRetryable: false,
      providerStatus: expect.stringMatching(words),
    });
  });

  test('with bytes that are no UTF-8, or a mark of their order, is refused', async () => {
    for (const first of [[0xff], [0xef, 0xbb, 0xbf]]) {
      const stage = stageOf(adapter, () => answerOf(Buffer.from([...first, ...Buffer.from(good)])));
      expect(await stage.failure()).toMatchObject({ providerStatus: 'invalid_json' });
    }
  });

  test.each([9e15, Number.MAX_SAFE_INTEGER])(
    'that claims %d tokens costs its space alone',
    async (tokens) => {
      const stage = stageOf(adapter, () => answerOf(JSON.stringify(adapter.good(tokens))));
      await stage.call('a');
      // One byte a token, the marks around it, and what a model may write.
      expect(await stage.tokensOfAll()).toBeLessThan(3_000);
      expect(await stage.failure('a')).toMatchObject({ providerStatus: 'space_budget_spent' });
      await stage.call('b');
      await stage.call('c');
      expect(await stage.tokensOfAll()).toBeLessThan(9_000);
    },
  );

  test.each([-1, 0.5, 1e17])('that claims %d tokens counts as an estimate', async (tokens) => {
    const stage = stageOf(adapter, () => answerOf(JSON.stringify(adapter.good(tokens))));
    await stage.failure();
    expect(await stage.tokensOfAll()).toBeLessThan(100);
  });

  test.each([
    ['999999999', 3_600_000],
    ['9'.repeat(400), 3_600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    ['3600', 3_600_000],
    ['40', 40_000],
    ['soon', null],
  ])('that asks to wait %s', async (field, retryAfterMs) => {
    const stage = stageOf(
      adapter,
      () => new Response('', { status: 429, headers: { 'retry-after': field } }),
    );
    expect(await stage.failure()).toMatchObject({ failureClass: 'rate_limit', retryAfterMs });
  });
});

/** As the adapters count: input and output of chats, the sum of ranks and vectors. */
function reportedBy(good: string): number {
  return [...good.matchAll(/(?:tokens|Count|count)":9/g)].length * 9;
}
