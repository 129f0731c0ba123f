import { execFile } from 'node:child_process';
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import samples from '../../functions/docs/samples.json' with { type: 'json' };
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { json, Stage } from '../../sdk/typescript/test/stage.ts';
import { observed } from '../../sdk/typescript/test/wire.ts';
import golden from '../../sdk/wire/requests.json' with { type: 'json' };
import { pythonMissing } from '../support/python.ts';
import { startService } from '../support/service.ts';
import { root } from './program.ts';

/** The code that the API reference shows: each sample runs, and sends the request of its operation. */

const run = promisify(execFile);
const SERVER = 'http://127.0.0.1:5220';
const cases = golden.cases.filter((each) => each.case === 'example');
const sources = (label: string) =>
  cases.map(({ operation }) => {
    const found = Object.entries(samples).find(([id]) => id === operation)?.[1];
    return found?.find((sample) => sample.label === label)?.source ?? `no ${label} of ${operation}`;
  });

const folder = mkdtempSync(join(tmpdir(), 'svc-samples-'));
beforeAll(() => {
  const [, base64 = ''] = /"base64":"([^"]+)"/.exec(JSON.stringify(cases)) ?? [];
  writeFileSync(join(folder, 'content.bin'), Buffer.from(base64, 'base64'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs programs that send one request each, in their order. */
async function sent(label: string, perform: (programs: readonly string[]) => Promise<void>) {
  await using stage = await Stage.open(json({ items: [], continuationToken: null }));
  await perform(sources(label).map((source) => source.replaceAll(SERVER, stage.address)));
  return stage.seen.map(observed);
}

const expected = cases.map(({ expect: request }) => request);

describe('the samples send the request of every operation', () => {
  test('in TypeScript', async () => {
    const Program = Object.getPrototypeOf(async () => {}).constructor as new (
      ...parts: readonly string[]
    ) => (...given: readonly unknown[]) => Promise<void>;
    const open = (name: string) => openAsBlob(join(folder, name));
    const seen = await sent('TypeScript', async (programs) => {
      for (const program of programs) {
        const body = program.replaceAll(/^import .+$/gm, '');
        await new Program('SvcClient', 'openAsBlob', 'console', body)(SvcClient, open, { log: () => {} });
      }
    });
    expect(seen).toEqual(expected);
  });

  test('with curl', async () => {
    const seen = await sent('curl', async (programs) => {
      const script = programs.map((program) => program.replace(/^curl /, 'curl --silent --output - '));
      await run('/bin/sh', ['-ec', script.join('\n')], { cwd: folder });
    });
    expect(seen).toEqual(expected);
  });

  test.skipIf(pythonMissing !== undefined)(`in Python${pythonMissing ?? ''}`, async () => {
    const seen = await sent('Python', async (programs) => {
      writeFileSync(join(folder, 'programs.json'), JSON.stringify(programs));
      const script =
        'import json\nfor program in json.load(open("programs.json")):\n    exec(compile(program, "sample", "exec"), {})';
      const env = { PATH: process.env['PATH'], PYTHONPATH: join(root, 'sdk/python/src') };
      await run('python3', ['-c', script], { cwd: folder, env });
    });
    expect(seen).toEqual(expected);
  });
});

test('the reference has the contract with the samples, aliases included', async () => {
  const service = await startService();
  const [shown, published] = await Promise.all(
    ['/docs/openapi.json', '/openapi/svc.json'].map((path) => service.call({ method: 'GET', path })),
  );
  await service.close();
  const document = JSON.parse(
    shown?.body ?? '',
  ) as typeof import('../../contracts/generated/openapi/svc.json');
  let count = 0;
  for (const item of Object.values(document.paths))
    for (const operation of Object.values(item) as Record<string, unknown>[]) {
      const all = operation['x-codeSamples'] as readonly { readonly label: string }[];
      expect(
        all.map(({ label }) => label),
        String(operation['operationId']),
      ).toEqual(['curl', 'TypeScript', 'Python']);
      delete operation['x-codeSamples'];
      count += 1;
    }
  expect(count).toBeGreaterThanOrEqual(cases.length);
  expect(document).toEqual(JSON.parse(published?.body ?? ''));
});
