/**
 * Writes the transcript of the SDK scenario from a run of the TypeScript client against a new embedded server:
 *
 *     npm run scenario [-- --check]
 *
 * Review its diff: the tests hold both SDKs and every store against it. `--check` fails if the transcript differs, and
 * writes nothing.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs, promisify } from 'node:util';
import { startServer } from '../test/support/server-process.ts';
import { normalised, SCENARIO_SETTINGS } from '../test/system/sdk-transcript.ts';

const TRANSCRIPT = 'sdk/scenario/transcript.json';
const TENANT = 't-0123456789ab';

const { values } = parseArgs({ options: { check: { type: 'boolean' } } });
const given = await transcript();
if (values.check !== true) {
  writeFileSync(TRANSCRIPT, JSON.stringify(given, null, 2));
  await promisify(execFile)('node_modules/.bin/biome', ['format', '--write', TRANSCRIPT]);
} else if (!isDeepStrictEqual(given, JSON.parse(readFileSync(TRANSCRIPT, 'utf8')))) {
  console.error(`${TRANSCRIPT} is not the result of a run: npm run scenario, and review the diff`);
  process.exitCode = 1;
}

async function transcript(): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-scenario-'));
  const server = await startServer({ SVC_DATA_DIR: folder }, SCENARIO_SETTINGS);
  try {
    const program = ['sdk/scenario/typescript.ts', 'sdk/scenario/scenario.json', server.address, TENANT];
    const { stdout } = await promisify(execFile)(process.execPath, program, { maxBuffer: 2 ** 26 });
    return normalised(JSON.parse(stdout), { tenant: TENANT, provider: ['sqlite'] });
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}
