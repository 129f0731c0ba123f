import { afterEach, describe, expect, test } from 'vitest';
import {
  json,
  type ModelServer,
  ModelWorld,
  startModelServer,
  TIMEOUT_MS,
} from '../providers/outgoing/model-server.fixture.ts';
import type { Embedder } from './embedder.ts';
import { type OpenAiEmbedderOptions, openAiEmbedder } from './openai-embedder.ts';
import { type VertexEmbedderOptions, vertexEmbedder } from './vertex-embedder.ts';

const prefixes = { query: null, passage: null, symmetric: null };
const common = { provider: 'p', modelId: 'm', dimensions: 2, prefixes, timeoutMs: TIMEOUT_MS };
const signal = new AbortController().signal;
let server: ModelServer;
afterEach(async () => {
  await server.close();
});

function openAi(own: Partial<OpenAiEmbedderOptions> = {}): Embedder {
  const options = {
    ...common,
    baseAddress: `${server.address}/v1/`,
    sendsDimensions: true,
    apiKey: () => Promise.resolve('k'),
    ...own,
  };
  return openAiEmbedder(new ModelWorld(), options);
}

function vertex(own: Partial<VertexEmbedderOptions> = {}): Embedder {
  const credentials = () => Promise.resolve(new Headers({ authorization: 'Bearer t' }));
  const place = { project: 'a b', location: 'europe-west1', endpoint: server.address, credentials };
  return vertexEmbedder(new ModelWorld(), { ...common, ...place, ...own });
}

const kinds = {
  'openai-compatible': {
    open: () => openAi(),
    answer: (vectors: readonly unknown[]) => ({
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    }),
  },
  vertex: {
    open: () => vertex(),
    answer: (vectors: readonly unknown[]) => ({
      predictions: vectors.map((values) => ({ embeddings: { values, statistics: { token_count: 1 } } })),
    }),
  },
};

describe.each(Object.entries(kinds))('an embedder of the kind %s', (_, { open, answer }) => {
  test('answers the vectors in the order of the texts', async () => {
    server = await startModelServer(
      json(
        answer([
          [1, 0.5],
          [0, -2],
        ]),
      ),
    );
    const vectors = await open().embed(['a', 'b'], { purpose: 'symmetric', signal });
    expect(vectors).toEqual([Float32Array.of(1, 0.5), Float32Array.of(0, -2)]);
  });

  test.each<[string, unknown]>([
    ['a vector that is too short', answer([[1, 2], [1]])],
    [
      'a vector that is too long',
      answer([
        [1, 2],
        [1, 2, 3],
      ]),
    ],
    [
      'a number beyond single precision',
      answer([
        [1, 2],
        [1e300, 2],
      ]),
    ],
    [
      'a text for a number',
      answer([
        [1, 2],
        ['1', 2],
      ]),
    ],
    [
      'null for a number',
      answer([
        [1, 2],
        [null, 2],
      ]),
    ],
    ['no vector', answer([[1, 2], undefined])],
    ['a vector too few', answer([[1, 2]])],
    [
      'a vector too many',
      answer([
        [1, 2],
        [1, 2],
        [1, 2],
      ]),
    ],
    ['another value', ['data']],
    ['null', null],
  ])('refuses %s', async (__, body) => {
    server = await startModelServer(json(body));
    const call = open().embed(['a', 'b'], { purpose: 'symmetric', signal });
    await expect(call).rejects.toMatchObject({ failureClass: 'schema', isRetryable: false });
    expect(server.received).toHaveLength(1);
  });
});

const whole = Number.MAX_SAFE_INTEGER;
const openAiAnswer = (usage: unknown) => ({
  ...kinds['openai-compatible'].answer([
    [1, 2],
    [1, 2],
  ]),
  usage,
});
const vertexAnswer = (...counts: readonly unknown[]) => ({
  predictions: counts.map((token_count) => ({ embeddings: { values: [1, 2], statistics: { token_count } } })),
});

describe('the tokens of a call are', () => {
  test.each<[string, () => Embedder, unknown, number | null]>([
    ['those of the texts', openAi, openAiAnswer({ prompt_tokens: 9, total_tokens: 10 }), 9],
    ['those of all', openAi, openAiAnswer({ total_tokens: 10 }), 10],
    ['the sum for all texts', vertex, vertexAnswer(4, 5), 9],
    ...[undefined, null, 0, -1, 1.5, '9', whole + 1].flatMap(
      (count): [string, () => Embedder, unknown, null][] => [
        [`not known of ${count}`, openAi, openAiAnswer({ prompt_tokens: count, total_tokens: count }), null],
        [`not known of 4 and ${count}`, vertex, vertexAnswer(4, count), null],
      ],
    ),
    [
      'those of all where the others are not counted',
      openAi,
      openAiAnswer({ prompt_tokens: 0, total_tokens: 12 }),
      12,
    ],
    ['not known without usage', openAi, openAiAnswer(undefined), null],
    ['not known of a sum beyond all', vertex, vertexAnswer(whole, whole), null],
  ])('%s', async (_, open, answer, tokens) => {
    server = await startModelServer(json(answer));
    const counts: unknown[] = [];
    const took = (count: number | null) => counts.push(count);
    await open().embed(['a', 'b'], { purpose: 'symmetric', signal, took });
    expect(counts).toEqual([tokens]);
  });

  test.each<[string, () => Embedder, unknown, number]>([
    ['an OpenAI-compatible one', openAi, { data: [], usage: { prompt_tokens: 9 } }, 9],
    ['Vertex', vertex, vertexAnswer(9), 9],
  ])('reported also for an answer that is refused, by %s', async (_, open, answer, tokens) => {
    server = await startModelServer(json(answer));
    const counts: unknown[] = [];
    const took = (count: number | null) => counts.push(count);
    const call = open().embed(['a', 'b'], { purpose: 'symmetric', signal, took });
    await expect(call).rejects.toMatchObject({ providerStatus: 'vector_count' });
    expect(counts).toEqual([tokens]);
  });
});

describe('the OpenAI-compatible embedder', () => {
  test('sends texts, model, size and format', async () => {
    server = await startModelServer(json(kinds['openai-compatible'].answer([[1, 2]])));
    await openAi().embed(['a'], { purpose: 'query', signal });
    const [request] = server.received;
    expect([request?.method, request?.url]).toEqual(['POST', '/v1/embeddings']);
    expect(request?.headers.authorization).toBe('Bearer k');
    expect(JSON.parse(request?.body ?? '')).toEqual({
      input: ['a'],
      model: 'm',
      dimensions: 2,
      encoding_format: 'float',
    });
  });

  test('sends neither a key nor a size if none is set', async () => {
    server = await startModelServer(json(kinds['openai-compatible'].answer([[1, 2]])));
    await openAi({ apiKey: () => Promise.resolve(null), sendsDimensions: false }).embed(['a'], {
      purpose: 'query',
      signal,
    });
    const [request] = server.received;
    expect(request?.headers.authorization).toBeUndefined();
    expect(JSON.parse(request?.body ?? '')).not.toHaveProperty('dimensions');
  });

  test('puts vectors to their texts by index, and refuses two for one text', async () => {
    const item = (index: number, embedding: number[]) => ({ index, embedding });
    server = await startModelServer(
      json({ data: [item(1, [0, 1]), item(0, [1, 0])] }),
      json({ data: [item(1, [0, 1]), item(1, [1, 0])] }),
      json({ data: [item(1, [0, 1]), item(2, [1, 0])] }),
    );
    const embed = () => openAi().embed(['a', 'b'], { purpose: 'symmetric', signal });
    expect(await embed()).toEqual([Float32Array.of(1, 0), Float32Array.of(0, 1)]);
    await expect(embed()).rejects.toMatchObject({ providerStatus: 'vector_index' });
    await expect(embed()).rejects.toMatchObject({ providerStatus: 'vector_index' });
  });
});

describe('the Vertex embedder', () => {
  test('sends each text with the task of its purpose', async () => {
    server = await startModelServer(json(kinds.vertex.answer([[1, 2]])));
    for (const purpose of ['query', 'passage', 'document', 'symmetric'] as const)
      await vertex().embed(['a'], { purpose, signal });
    const [first] = server.received;
    expect(first?.url).toBe('/v1/projects/a%20b/locations/europe-west1/publishers/google/models/m:predict');
    expect(first?.headers.authorization).toBe('Bearer t');
    expect(server.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      ['RETRIEVAL_QUERY', 'RETRIEVAL_DOCUMENT', 'RETRIEVAL_DOCUMENT', 'SEMANTIC_SIMILARITY'].map(
        (task_type) => ({
          instances: [{ content: 'a', task_type }],
          parameters: { autoTruncate: false, outputDimensionality: 2 },
        }),
      ),
    );
  });

  test('sends one text at a time to a model that takes no more', async () => {
    server = await startModelServer();
    expect(vertex({ modelId: 'gemini-embedding-001' }).batch.textsMax).toBe(1);
    expect(vertex().batch).toEqual({ textsMax: 250, tokensMax: 20_000 });
    expect(openAi().batch).toEqual({ textsMax: 2_048, tokensMax: 300_000 });
  });
});
