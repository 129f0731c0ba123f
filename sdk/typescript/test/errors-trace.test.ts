import { expect, test, vi } from 'vitest';
import { type SvcClient, SvcError } from '../src/index.ts';
import { json, ManualTime, problem, Stage, silence, thrown } from './stage.ts';

const once = { maxRetries: 0 };

// Each name is looked for in the stack of the error that its function throws.
const callers: Readonly<Record<string, (client: SvcClient) => Promise<unknown>>> = {
  async awaitsCall(client) {
    await client.health();
  },
  async awaitsResponse(client) {
    await client.health().withResponse();
  },
  async awaitsRaw(client) {
    await client.health().asResponse();
  },
  async awaitsTogether(client) {
    await Promise.all([client.health(), client.readiness()]);
  },
  async awaitsFirstPage(client) {
    await client.queryCanonicalDocuments('acme');
  },
  async iterates(client) {
    for await (const document of client.queryCanonicalDocuments('acme')) void document;
  },
  async collects(client) {
    await client.queryCanonicalDocuments('acme').all();
  },
  async waitsForRun(client) {
    await client.waitForExecutionRun('run-1');
  },
  async wasAborted(client) {
    await client.health({ signal: AbortSignal.abort() });
  },
  async isInvalid(client) {
    await client.getExecutionRun(undefined as never);
  },
};

test.each(Object.keys(callers))('the stack of an error names the caller: %s', async (name) => {
  await using stage = await Stage.open(problem(404, 'not_found'), problem(404, 'not_found'));
  const error = await thrown(callers[name]?.(stage.client(once)) ?? Promise.resolve(), SvcError);
  expect(error.stack).toMatch(
    new RegExp(`^    at (async )?(Object\\.)?${name} .*errors-trace\\.test\\.ts:\\d+`, 'm'),
  );
});

test('the stack of a timeout names the caller', async () => {
  await using stage = await Stage.open(silence);
  const world = new ManualTime();
  async function runsLate(): Promise<void> {
    await stage.client({ ...once, world, timeout: 5 }).health();
  }
  const late = thrown(runsLate(), SvcError);
  await world.pass(5);
  expect((await late).stack).toMatch(/^    at (async )?runsLate .*errors-trace\.test\.ts:\d+/m);
});

test('the stack of a later page names the caller', async () => {
  const page = json({ items: [1], continuationToken: 'next' });
  await using stage = await Stage.open(page, problem(404, 'not_found'));
  async function readsOn(): Promise<void> {
    for await (const document of stage.client(once).queryCanonicalDocuments('acme')) void document;
  }
  expect((await thrown(readsOn(), SvcError)).stack).toMatch(/^    at (async )?readsOn .*errors-trace/m);
});

test('a call that succeeds makes no error to keep a stack', async () => {
  await using stage = await Stage.open(json({}));
  const client = stage.client(once);
  await client.health();
  const made = vi.fn();
  const captured = vi.spyOn(Error, 'captureStackTrace');
  vi.stubGlobal(
    'Error',
    class extends Error {
      constructor(...given: ConstructorParameters<typeof Error>) {
        super(...given);
        made();
      }
    },
  );
  try {
    await client.health();
  } finally {
    vi.unstubAllGlobals();
  }
  expect([made.mock.calls, captured.mock.calls]).toEqual([[], []]);
});

test('an error names its target, without the query and without credentials', async () => {
  await using stage = await Stage.open(problem(404, 'not_found'));
  const client = stage.client({ ...once, apiKey: 'canary' });
  const refused = await thrown(client.listExecutionRuns({ limit: 3 }), SvcError);
  expect(refused).toMatchObject({
    operation: 'listExecutionRuns',
    target: `GET ${stage.address}/execution/runs`,
  });
  expect(JSON.parse(JSON.stringify(refused))).toMatchObject({ target: refused.target });
  expect((await thrown(client.getExecutionRun('a b'), SvcError)).target).toBe(
    `GET ${stage.address}/execution/runs/a%20b`,
  );
  expect((await thrown(client.getExecutionRun(undefined as never), SvcError)).target).toBe(
    `GET ${stage.address}/execution/runs/{runId}`,
  );
  expect(new SvcError('of no call').target).toBeUndefined();
});
