import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';
import { builtInEmbedder } from '../../embeddings/built-in.ts';

/** Embeddings over HTTP. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function call(method: string, path: string, body?: unknown, other = service) {
  const answer = await other.call({ method, path, body });
  return { status: answer.status, json: answer.json<Record<string, unknown>>() };
}

interface Item {
  readonly values: readonly number[];
}
const embed = (body: unknown, other?: RunningService) => call('POST', '/embeddings', body, other);
const itemsOf = ({ json }: { readonly json: Record<string, unknown> }) => json['items'] as readonly Item[];

async function vectorOf(text: string, provider = 'local-token-hash', size?: number) {
  const signal = new AbortController().signal;
  const vectors = await builtInEmbedder(provider, size)?.embed([text], { purpose: 'symmetric', signal });
  return Array.from(vectors?.[0] ?? []);
}

describe('generateEmbeddings', () => {
  test('answers the vectors of `text` and then `texts`', async () => {
    const { status, json } = await embed({ text: 'one two', texts: ['three', 'one two'] });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      provider: 'local-token-hash',
      modelId: 'local-token-hash-embedding-v1',
      dimensions: 384,
      purpose: 'symmetric',
    });
    const items = json['items'] as readonly Item[];
    expect(items).toMatchObject([
      { index: 0, textLength: 7, preparedTextLength: 7, prefixApplied: false, prefixLength: 0 },
      { index: 1, textLength: 5 },
      { index: 2, textLength: 7 },
    ]);
    const expected = await Promise.all(['one two', 'three', 'one two'].map((text) => vectorOf(text)));
    expect(items.map(({ values }) => values.map(Math.fround))).toEqual(expected);
  });

  test('puts the prefix of the purpose before a text that does not begin with it', async () => {
    const request = { texts: ['word', 'passage: word'], purpose: ' DOCUMENT ', passagePrefix: 'passage: ' };
    const answer = await embed(request);
    expect(answer.json).toMatchObject({
      purpose: 'document',
      items: [
        { textLength: 4, preparedTextLength: 13, prefixApplied: true, prefixLength: 9 },
        { textLength: 13, preparedTextLength: 13, prefixApplied: false, prefixLength: 9 },
      ],
    });
    const [first, second] = itemsOf(answer);
    expect(first?.values).toEqual(second?.values);
  });

  test('takes 128 texts of 100,000 characters at most', async () => {
    expect((await embed({ text: 'a', texts: Array(127).fill('b') })).status).toBe(200);
    expect((await embed({ text: '-'.repeat(100_000) })).status).toBe(200);
    const refused = [
      { text: 'a', texts: Array(128).fill('b') },
      { texts: Array(129).fill('b') },
      { text: 'a'.repeat(100_001) },
      { texts: ['a', 'a'.repeat(100_001)] },
      { text: 'a', queryPrefix: 'a'.repeat(513) },
    ];
    for (const body of refused) expect((await embed(body)).status).toBe(400);
  });

  test.each<[string, unknown]>([
    ['nothing', {}],
    ['nulls', { text: null, texts: null }],
    ['an empty list', { texts: [] }],
    ['an empty text', { text: '' }],
    ['white space', { texts: ['a', ' \n\t'] }],
    ['a lone surrogate', { text: 'a\ud800' }],
    ['a lone surrogate in a prefix', { text: 'a', symmetricPrefix: '\udc00' }],
    ['another purpose', { text: 'a', purpose: 'other' }],
    ['a number for a text', { text: 1 }],
    ['a list of numbers', { texts: [1] }],
    ['an unknown member', { text: 'a', provider: 'deterministic-hash' }],
  ])('refuses %s', async (_, body) => {
    const { status, json } = await embed(body);
    expect([status, json['code']]).toEqual([400, expect.stringMatching(/^(validation_failed|malformed)/)]);
    expect(JSON.stringify(json)).not.toContain('\\ud800');
  });

  test('names the place of a text that it refuses', async () => {
    const { json } = await embed({ texts: ['a', '  '] });
    expect(json).toMatchObject({ errors: [{ pointer: '/texts/1', detail: 'must be a non-empty text' }] });
  });
});

describe('the provider of the settings', () => {
  test('serves with its own length of vectors', async () => {
    const settings = { 'Embeddings:Provider': 'deterministic-hash', 'Embeddings:Dimensions': '8' };
    const other = await startService({ settings });
    try {
      const answer = await embed({ text: 'a' }, other);
      expect(answer.json).toMatchObject({ provider: 'deterministic-hash', dimensions: 8 });
      const expected = await vectorOf('a', 'deterministic-hash', 8);
      expect(itemsOf(answer)[0]?.values.map(Math.fround)).toEqual(expected);
      const { json } = await call('GET', '/embedding-providers', undefined, other);
      expect(json).toMatchObject([
        { provider: 'deterministic-hash', defaultDimensions: 8, active: true },
        { provider: 'local-token-hash', defaultDimensions: 384, active: false },
      ]);
      const doctor = await call('GET', '/embedding-providers/doctor', undefined, other);
      expect(doctor.json).toMatchObject({ provider: 'deterministic-hash', status: 'warning' });
    } finally {
      await other.close();
    }
  });

  test('listEmbeddingProviders lists what the service has, by id', async () => {
    const { json } = await call('GET', '/embedding-providers');
    expect(json).toMatchObject([
      {
        provider: 'deterministic-hash',
        defaultModelId: 'deterministic-hash-embedding-v1',
        defaultDimensions: 64,
        semanticQuality: 'mechanical',
        local: true,
        cpuOnly: true,
        requiresNetwork: false,
        defaultQueryPrefix: null,
        defaultPassagePrefix: null,
        defaultSymmetricPrefix: null,
        active: false,
        enabled: true,
        disabledReason: null,
      },
      { provider: 'local-token-hash', defaultDimensions: 384, semanticQuality: 'lexical', active: true },
    ]);
  });

  test('listEmbeddingProviderGuidance says that hashes are no model of meaning', async () => {
    const { json } = await call('GET', '/embedding-providers/guidance');
    expect(json).toMatchObject([
      { provider: 'deterministic-hash', realisticForSemanticRetrieval: false },
      {
        provider: 'local-token-hash',
        hardwareProfile: 'cpu-only',
        requiresModelFiles: false,
        realisticForSemanticRetrieval: false,
        suggestedRetrievalProfiles: expect.arrayContaining(['evidence']),
      },
    ]);
  });

  test('getEmbeddingProviderDoctor makes five checks', async () => {
    const { json } = await call('GET', '/embedding-providers/doctor');
    expect(json).toMatchObject({ provider: 'local-token-hash', status: 'ok' });
    const checks = json['checks'] as readonly { readonly id: string }[];
    expect(checks.map(({ id }) => id)).toEqual([
      'embedding.provider',
      'embedding.dimensions',
      'embedding.model_files',
      'embedding.runtime',
      'embedding.quality',
    ]);
    expect(checks.at(-1)).toMatchObject({
      details: { realisticForSemanticRetrieval: false, hardwareProfile: 'cpu-only' },
    });
  });
});

test('a long request leaves the processor to others', async () => {
  const words = Array.from({ length: 4_000 }, (_, at) => `w${at}`).join(' ');
  const state = { answered: 0, served: 0 };
  const long = Array.from({ length: 4 }, async () => {
    const { status } = await embed({ texts: Array.from({ length: 3 }, (_, at) => `${words} ${at}`) });
    state.answered += 1;
    return status;
  });
  while (state.answered === 0) {
    expect((await call('GET', '/embedding-providers')).status).toBe(200);
    state.served += 1;
  }
  expect(await Promise.all(long)).toEqual([200, 200, 200, 200]);
  expect(state.served).toBeGreaterThan(10);
});
