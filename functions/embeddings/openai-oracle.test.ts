import { afterEach, describe, expect, test } from 'vitest';
import { toolsMissing } from '../../scripts/tools.ts';
import { officialOpenAi } from '../../test/support/official-openai.ts';
import {
  json,
  type ModelServer,
  ModelWorld,
  type Received,
  startModelServer,
  TIMEOUT_MS,
} from '../providers/outgoing/model-server.fixture.ts';
import { openAiEmbedder } from './openai-embedder.ts';

/** The official client is the oracle of our requests: both send the same, and read the same from an answer. */

const KEY = 'sk-oracle';
const signal = new AbortController().signal;
let server: ModelServer;
afterEach(() => server.close());

/** The parts of a request that a server sees, without those in which a client names itself. */
function facts(received: Received | undefined) {
  const { method, url, headers, body } = received ?? expect.fail('there is no request');
  const { authorization, accept } = headers;
  const type = headers['content-type'];
  return { method, url, authorization, accept, type, body: JSON.parse(body) as unknown };
}

interface Asked {
  readonly texts: readonly string[];
  readonly dimensions: number | null;
}

/** The request of the official client and ours for the same texts. */
async function bothFor({ texts, dimensions }: Asked, more: object = {}) {
  const data = texts.map((_, index) => ({ object: 'embedding', index, embedding: [index, 0.25] }));
  const usage = { prompt_tokens: 4_711, total_tokens: 4_711 };
  server = await startModelServer(json({ object: 'list', data, model: 'small', usage }));
  const baseURL = `http://127.0.0.1:${server.port}/v1`;
  const size = dimensions === null ? {} : { dimensions };
  const theirs = await officialOpenAi({ apiKey: KEY, baseURL, maxRetries: 0 }).embeddings.create({
    model: 'small',
    input: [...texts],
    encoding_format: 'float',
    ...size,
    ...more,
  });
  const embedder = openAiEmbedder(new ModelWorld(), {
    provider: 'mine',
    baseAddress: baseURL,
    modelId: 'small',
    dimensions: dimensions ?? 2,
    sendsDimensions: dimensions !== null,
    prefixes: { query: null, passage: null, symmetric: null },
    apiKey: () => Promise.resolve(KEY),
    timeoutMs: TIMEOUT_MS,
  });
  const counts: unknown[] = [];
  const took = (count: number | null) => counts.push(count);
  const ours = await embedder.embed(texts, { purpose: 'symmetric', signal, took });
  const [first, second] = server.received.map(facts);
  const vectors = {
    theirs: theirs.data.map(({ embedding }) => embedding),
    ours: ours.map((each) => [...each]),
  };
  const tokens = { theirs: [theirs.usage.prompt_tokens], ours: counts };
  return { theirs: first, ours: second, vectors, tokens };
}

describe.skipIf(toolsMissing !== undefined)(`the official client ${toolsMissing ?? ''}`.trim(), () => {
  test.each<[string, Asked]>([
    ['one text', { texts: ['a'], dimensions: null }],
    ['several texts', { texts: ['a', 'b', 'a'], dimensions: 2 }],
    ['odd texts', { texts: ['', ' ', 'é😀\u2028"\\', 'x'.repeat(10_000)], dimensions: 2 }],
    ['2,048 texts', { texts: Array.from({ length: 2_048 }, (_, at) => `text ${at}`), dimensions: 2 }],
  ])('sends what we send for %s, and reads the same vectors and tokens', async (_, asked) => {
    const { theirs, ours, vectors, tokens } = await bothFor(asked);
    expect(ours).toEqual(theirs);
    expect(vectors.ours).toEqual(vectors.theirs);
    expect(tokens.ours).toEqual(tokens.theirs);
  });

  test.each([{ dimensions: 3 }, { user: 'someone' }, { encoding_format: 'base64' }])(
    'and a request with %j would be found',
    async (more) => {
      const { theirs, ours } = await bothFor({ texts: ['a'], dimensions: 2 }, more);
      expect(ours).not.toEqual(theirs);
    },
  );
});
