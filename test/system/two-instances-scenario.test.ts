import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import catalog from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import scenario from '../../sdk/scenario/scenario.json' with { type: 'json' };
import expected from '../../sdk/scenario/transcript.json' with { type: 'json' };
import { type Relay, startRelay } from '../support/relay.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { normalised, SCENARIO_SETTINGS } from './sdk-transcript.ts';

/** Every operation of the contract, on two processes over one database that share nothing else. */

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'two-scenario-'));
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
/** Requests of the scenario before the kill, and before the killed server takes part again. */
const KILLED_AT = 40;
const BACK_AT = 50;
let servers: readonly ServerProcess[];
let relay: Relay;

beforeAll(async () => {
  const env = { SVC_DATA_DIR: folder };
  servers = [await startServer(env, SCENARIO_SETTINGS), await startServer(env, SCENARIO_SETTINGS)];
  relay = await startRelay(servers);
});

afterAll(async () => {
  await relay.close();
  for (const server of servers) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('two processes behind a balancer without affinity', () => {
  test('give the answers of one process, step by step', async () => {
    const tenant = `t-${randomBytes(6).toString('hex')}`;
    const program = resolve('sdk/scenario/typescript.ts');
    const given = [program, resolve('sdk/scenario/scenario.json'), relay.address, tenant];
    const { stdout } = await run(process.execPath, given, { maxBuffer: 2 ** 26 });
    expect(normalised(JSON.parse(stdout), { tenant, provider: ['sqlite'] })).toEqual(expected);
    for (const count of relay.counts) expect(count).toBeGreaterThan(scenario.steps.length / 3);
  });

  test('give it also where one is killed in the middle and started again', async () => {
    const own = mkdtempSync(join(tmpdir(), 'two-killed-'));
    const env = { SVC_DATA_DIR: own };
    const first = await startServer(env, SCENARIO_SETTINGS);
    const places: (ServerProcess | undefined)[] = [first, await startServer(env, SCENARIO_SETTINGS)];
    let back: Promise<void> | undefined;
    const middle = await startRelay(places, {
      async before(requests) {
        if (requests === KILLED_AT) {
          places[0] = undefined;
          await first.kill();
          back = startServer(env, SCENARIO_SETTINGS).then((server) => {
            places[0] = server;
          });
        }
        // From here both answer again.
        if (requests === BACK_AT) await back;
      },
    });
    const tenant = `t-${randomBytes(6).toString('hex')}`;
    const program = resolve('sdk/scenario/typescript.ts');
    const given = [program, resolve('sdk/scenario/scenario.json'), middle.address, tenant];
    try {
      const { stdout } = await run(process.execPath, given, { maxBuffer: 2 ** 26 });
      expect(normalised(JSON.parse(stdout), { tenant, provider: ['sqlite'] })).toEqual(expected);
      expect(Math.min(...middle.counts)).toBeGreaterThan(scenario.steps.length / 4);
    } finally {
      await middle.close();
      await back;
      for (const server of places) await server?.stop();
      rmSync(own, { recursive: true, force: true });
    }
  });

  test('take part in every call of the canonical store and of the runtime', () => {
    const named = scenario.steps.map(({ method }) => method.typescript);
    const called = catalog.operations.filter(({ group, sdk }) => group !== 'server' && sdk !== null);
    expect(named).toEqual(expect.arrayContaining(called.map(({ sdk }) => sdk?.typescript)));
  });

  const pages = catalog.operations.filter(({ group }) => group === 'server');
  test.each(pages.map(({ id, routes }) => ({ id, path: routes[0]?.path ?? '' })))(
    '$id: both answer alike',
    async ({ path }) => {
      const answers = await Promise.all(
        servers.map(async ({ address }) => {
          const response = await fetch(`${address}${path}`);
          const type = response.headers.get('content-type');
          return { status: response.status, type, body: (await response.text()).replaceAll(TIME, '<time>') };
        }),
      );
      expect(answers[0]?.status).toBe(200);
      expect(answers[1]).toEqual(answers[0]);
    },
  );
});
