import { afterEach, expect, test } from 'vitest';
import { hurried, type RunningService, startService } from '../../../test/support/service.ts';
import {
  json,
  type ModelServer,
  type Reply,
  startModelServer,
} from '../../providers/outgoing/model-server.fixture.ts';

/** Evaluations of contexts whose model, over the network, has no turn for them. */

let server: ModelServer;
let service: RunningService;
afterEach(async () => {
  await service.close();
  await server.close();
});

async function start(reply: Reply, more: Readonly<Record<string, string>> = {}): Promise<void> {
  server = await startModelServer(reply);
  const now = Date.now();
  service = await startService({
    // Calls are counted by the minute: none begins between two requests.
    world: { ...hurried, clock: { now: () => now } },
    settings: {
      'Embeddings:Provider': 'mine',
      'Providers:EnableLiveTargets': 'yes',
      'Providers:0:Id': 'mine',
      'Providers:0:Kind': 'openai-compatible',
      'Providers:0:BaseAddress': `http://127.0.0.1:${server.port}/v1`,
      'Providers:0:Model': 'small',
      'Providers:0:Dimensions': '2',
      ...more,
    },
  });
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }];
  const body = { name: 'notes', vectorPolicies };
  const { id } = (await service.call({ method: 'POST', path: '/collections', body })).json<{ id: string }>();
  for (let status = ''; status !== 'succeeded'; ) {
    const run = await service.call({ method: 'GET', path: `/execution/runs/${id}?waitSeconds=20` });
    ({ status } = run.json<{ status: string }>());
    expect(['queued', 'running', 'succeeded']).toContain(status);
  }
}

const caseOf = (query: string) => ({
  request: { retrieval: { query, collections: ['notes'], searchMode: 'vector' } },
});

function evaluate(...queries: readonly string[]) {
  const body = { cases: queries.map(caseOf) };
  return service.call({ method: 'POST', path: '/rag/context/evaluate', body });
}

test.each([
  [429, 'http_429'],
  [503, 'http_503'],
])(
  'a model that answers %d is no result of a case: the call is refused with 503',
  async (status, providerStatus) => {
    await start(json({}, status));
    const answer = await evaluate('a');
    expect([answer.status, answer.json()]).toMatchObject([
      503,
      { code: 'provider_unavailable', providerStatus },
    ]);
    expect(Number(new Headers(answer.headers).get('retry-after'))).toBeGreaterThan(0);
  },
);

test('a limit of the service for the model refuses the call with 429, and keeps what was paid for', async () => {
  await start(json({ data: [{ index: 0, embedding: [1, 2] }] }), { 'Providers:0:CallsPerMinute': '1' });
  const answer = await evaluate('a', 'b');
  expect([answer.status, answer.json()]).toMatchObject([
    429,
    { code: 'provider_limit_reached', providerStatus: 'rate_limited' },
  ]);
  expect(Number(new Headers(answer.headers).get('retry-after'))).toBeGreaterThan(0);
  // The vector of the first case was kept.
  expect((await evaluate('a')).json()).toMatchObject({ attempted: 1, succeeded: 1 });
  expect(server.received).toHaveLength(1);
});

test('a model that refuses the key is the result of its case', async () => {
  await start(json({}, 401));
  const answer = await evaluate('a', 'b');
  expect([answer.status, answer.json()]).toMatchObject([200, { attempted: 2, failed: 2 }]);
});
