import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LocalCloud } from '../../emulator/local-cloud.ts';
import { buildFunctions } from '../../scripts/build.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { commit, root } from './program.ts';

// Inside the project: the local cloud loads the bundle into its own copy of functions-framework.
const folder = join(root, `dist/build-cloud-${process.pid}`);
const plugin = join(folder, 'plugin.mjs');

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  const handler = `{ handlerId: 'built.echo', run: ({ payload }) => payload }`;
  const description = `pluginId: 'built', name: 'Built', version: '1.0.0', handlers: [${handler}]`;
  writeFileSync(plugin, `export default { ${description} };`);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(firestoreMissing !== undefined)('the bundle on the clients of the cloud', () => {
  test('commits to Firestore, and Cloud Tasks delivers a run to the worker', async () => {
    vi.stubEnv('FIRESTORE_EMULATOR_HOST', firestoreHost());
    const { outdir } = await buildFunctions(join(folder, 'functions'));
    const settings = { GOOGLE_CLOUD_PROJECT: firestoreProject(), ExecutionRuntime__Plugins__0: plugin };
    const options = { entry: join(outdir, 'index.js'), port: 0, adminPort: 0, oidc: false, data: undefined };
    const given = { ...process.env, ...settings };
    const cloud = new LocalCloud({ ...options, given, log: () => {} });
    try {
      const [, url = ''] = /ready at (http:\S+)/.exec(await cloud.start()) ?? [];
      const answer = await commit(url, 't', 'once');
      expect(answer.status, await answer.clone().text()).toBe(200);
      expect(await resultOf(url, { greeting: 'hello' })).toEqual({ greeting: 'hello' });
    } finally {
      await cloud.stop();
    }
  });
});

/** Starts a run, and gives its result when it is over. */
async function resultOf(url: string, payload: object): Promise<unknown> {
  const started = await fetch(`${url}/execution/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ handlerId: 'built.echo', payload }),
  });
  let run = (await started.json()) as { id: string; status: string; result?: unknown };
  while (['queued', 'running'].includes(run.status)) {
    const answer = await fetch(`${url}/execution/runs/${run.id}?waitSeconds=20`);
    run = (await answer.json()) as typeof run;
  }
  expect(run).toMatchObject({ status: 'succeeded' });
  return run.result;
}
