import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { type Ended, runTool, startTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** `svc runs cancel` and `svc runs rerun` for all runs that match, against a server behind a gate that refuses or holds requests. */

const folder = mkdtempSync(join(tmpdir(), 'svc-tool-bulk-'));
let server: ServerProcess;
let client: SvcClient;

type Gate = (incoming: IncomingMessage, response: ServerResponse) => Promise<boolean> | boolean;
/** Whether a request goes on to the server. */
let gate: Gate = () => true;
const front = createServer((incoming, response) => {
  void (async () => {
    if (!(await gate(incoming, response))) return;
    const { url = '', method = '', headers } = incoming;
    const onward = request(`${server.address}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  })();
});

beforeAll(async () => {
  const settings = [
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=h',
    'ExecutionRuntime:ExternalHandlers:1:HandlerId=other',
  ];
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, settings);
  client = new SvcClient({ baseUrl: server.address, apiKey: null, token: null });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
});
afterAll(async () => {
  front.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const env = () => ({ SVC_BASE_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}` });
const svc = (...args: string[]): Promise<Ended> => runTool(args, { env: env() });
const json = <T>(text: string) => JSON.parse(text) as T;
const lines = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

/** Queued runs with a tag, oldest first. */
async function started(group: string, count: number, handlerId = 'h'): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1)
    ids.push((await client.startExecutionRun({ handlerId, payload: { n }, tags: { group } })).id);
  return ids;
}

const statuses = async (ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => client.getExecutionRun(id)))).map(({ status }) => status);

describe('svc runs cancel, by a filter', () => {
  test('shows the runs, then cancels those that have not ended', async () => {
    const ids = await started('a', 5);
    const others = [...(await started('a', 1, 'other')), ...(await started('b', 1))];
    await client.cancelExecutionRun(ids[0] ?? '');
    const filter = ['runs', 'cancel', '--handler', 'h', '--tag', 'group=a'];
    const dry = await svc(...filter, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '4 runs would be cancelled.\n' });
    expect(dry.stdout.trimEnd().split('\n')).toEqual(ids.slice(1).toReversed());
    expect(await statuses(ids.slice(1))).toEqual(Array(4).fill('queued'));

    expect(await svc(...filter)).toMatchObject({ code: 2, stderr: expect.stringContaining('give --yes') });
    const done = await svc(...filter, '--yes', '--output', 'json');
    expect([done.code, done.stderr]).toEqual([0, '4 of 4 runs were cancelled.\n']);
    const results = json<{ id: string }[]>(done.stdout);
    expect(results.map(({ id }) => id).toSorted()).toEqual(ids.slice(1));
    expect(results[0]).toMatchObject({ status: 'cancelled', error: null });
    expect(await statuses(ids)).toEqual(Array(5).fill('cancelled'));
    expect(await statuses(others)).toEqual(['queued', 'queued']);
    expect(await svc(...filter, '--yes')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No run is left to do.\n',
    });
  });

  test('waits when the service asks to, and names each run that it refuses', async () => {
    const ids = await started('c', 6);
    const refused = new Set<string>();
    gate = ({ method, url = '' }, response) => {
      if (method !== 'DELETE') return true;
      const isGone = url.endsWith(ids[3] ?? '');
      if (!isGone && refused.has(url)) return true;
      refused.add(url);
      const body = JSON.stringify({ title: 'no', status: isGone ? 404 : 429, code: 'not_found' });
      response.writeHead(isGone ? 404 : 429, {
        'content-type': 'application/problem+json',
        'retry-after': '0',
      });
      response.end(body);
      return false;
    };
    const done = await svc('runs', 'cancel', '--tag', 'group=c', '--yes');
    gate = () => true;
    expect(done.code).toBe(1);
    expect(done.stderr).toMatch(
      new RegExp(`^${ids[3]}: 404 no .*\n(?:.*\n)*5 of 6 runs were cancelled\\.\n$`),
    );
    expect(done.stdout.trimEnd().split('\n').toSorted()).toEqual(
      ids.filter((id) => id !== ids[3]).map((id) => `${id}  cancelled`),
    );
    expect(refused.size).toBe(6);
  });

  test('continues after an interruption with the file of results', async () => {
    const ids = await started('d', 9);
    const path = join(folder, 'cancelled.jsonl');
    const held: (() => void)[] = [];
    let arrived = () => {};
    const four = new Promise<void>((done) => {
      arrived = done;
    });
    gate = ({ method }) => {
      if (method !== 'DELETE') return true;
      return new Promise<boolean>((done) => {
        held.push(() => done(true));
        if (held.length === 4) arrived();
      });
    };
    const args = ['runs', 'cancel', '--tag', 'group=d', '--yes', '--results', path];
    const tool = startTool(args, { env: env() });
    await four;
    tool.process.kill('SIGINT');
    for (const release of held) release();
    const stopped = await tool.ended;
    gate = () => true;
    expect([stopped.code, held.length]).toEqual([130, 4]);
    expect(stopped.stderr).toContain('Interrupted: 4 of 9 runs were cancelled; the same command');
    expect(stopped.stdout.trimEnd().split('\n')).toHaveLength(4);
    expect(lines(path)).toHaveLength(5);
    expect(statSync(path).mode & 0o777).toBe(0o600);

    // A run that matches now was not among those found.
    const [late = ''] = await started('d', 1);
    expect(await svc('runs', 'rerun', '--results', path)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('svc runs cancel'),
    });
    expect(await svc('runs', 'cancel', '--tag', 'group=e', '--results', path)).toMatchObject({ code: 4 });
    const rest = await svc('runs', 'cancel', '--results', path, '--yes');
    expect([rest.code, rest.stderr]).toEqual([0, '5 of 5 runs were cancelled.\n']);
    expect(await statuses([...ids, late])).toEqual([...Array(9).fill('cancelled'), 'queued']);
    expect(await svc(...args)).toMatchObject({ code: 0, stderr: 'No run is left to do.\n' });
  });

  test('stops where the service does not answer', async () => {
    await started('f', 3);
    gate = ({ method, socket }) => {
      if (method !== 'DELETE') return true;
      socket.destroy();
      return false;
    };
    const stopped = await svc('runs', 'cancel', '--tag', 'group=f', '--yes');
    gate = () => true;
    expect(stopped).toMatchObject({ code: 6, stdout: '' });
    expect(stopped.stderr).toContain('0 of 3 runs were cancelled before this failure');
  });

  test('takes runs that are older than a time', async () => {
    const ids = await started('g', 2);
    const old = ['runs', 'cancel', '--tag', 'group=g', '--dry-run', '--older-than'];
    expect(await svc(...old, '1h')).toMatchObject({ stdout: '', stderr: '0 runs would be cancelled.\n' });
    expect((await svc(...old, '0s')).stdout.trimEnd().split('\n')).toEqual(ids.toReversed());
    expect(await svc(...old, '1 h')).toMatchObject({ code: 2 });
    expect(await svc(...old, '1h', '--before', '2026-01-01T00:00:00Z')).toMatchObject({ code: 2 });
  });
});

describe('svc runs rerun, by a filter', () => {
  test('starts each run again once, also after a stop', async () => {
    const ids = await started('r', 4);
    for (const id of ids) await client.cancelExecutionRun(id);
    const path = join(folder, 'again.jsonl');
    // The start is made, and its answer lost.
    let isLost = false;
    gate = (incoming, response) => {
      if (incoming.method !== 'POST' || isLost) return true;
      isLost = true;
      const { url = '', method, headers } = incoming;
      const onward = request(`${server.address}${url}`, { method, headers }, () => response.destroy());
      incoming.pipe(onward);
      return false;
    };
    const filter = ['runs', 'rerun', '--status', 'cancelled', '--tag', 'group=r', '--yes'];
    const stopped = await svc(...filter, '--results', path);
    gate = () => true;
    expect(stopped.code).toBe(6);
    expect(stopped.stderr).toContain('the same command with --results continues');
    const rest = await svc('runs', 'rerun', '--results', path, '--yes');
    expect([rest.code, rest.stderr]).toMatchObject([
      0,
      expect.stringMatching(/^\d of \d runs? (was|were) run again\.\n$/),
    ]);
    for (const id of ids) {
      const items = await client.listExecutionRuns({ tag: { rerunOf: id } });
      expect(items).toMatchObject([{ status: 'queued', tags: { group: 'r', rerunOf: id } }]);
    }
    const results = lines(path)
      .slice(1)
      .map((line) => json<{ id: string; newRunId: string }>(line));
    expect(results.map(({ id }) => id).toSorted()).toEqual(ids);
    const [first] = results;
    expect(await client.getExecutionRun(first?.newRunId ?? '')).toMatchObject({
      tags: { rerunOf: first?.id },
    });
  });

  test('names runs that cannot begin from the step, and goes on', async () => {
    const [id = ''] = await started('s', 1);
    await client.cancelExecutionRun(id);
    // A worker that is not a kit may have written any journal.
    const forged = { k: 'a', t: 'step', ref: '..' };
    const ship = { k: 'ship', t: 'step', v: 1 };
    const head = { k: '@', t: 'mark', v: { format: 1, handler: 'h', version: '1' } };
    const journals = [[head, forged, ship], [head, { k: 1 }], 'text', [head, ship]];
    const ids: string[] = [];
    for (const content of journals) {
      const checkpoints = [{ key: 'svc.steps.0', content }];
      const run = await client.startExecutionRun({ handlerId: 'h', tags: { group: 's' }, checkpoints });
      ids.push((await client.cancelExecutionRun(run.id)).id);
    }
    const filter = ['--status', 'cancelled', '--tag', 'group=s', '--yes'];
    const done = await svc('runs', 'rerun', ...filter, '--from', 'ship');
    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(new RegExp(`^${ids[3]}  \\d+  queued\n$`));
    const refusals = done.stderr.trimEnd().split('\n');
    expect(refusals.pop()).toBe('1 of 5 runs was run again.');
    expect(refusals.toSorted()).toEqual([
      `${id}: The run has no journal of steps: without --from it runs whole.`,
      expect.stringContaining(`${ids[0]}: the parameter key cannot be ..`),
      `${ids[1]}: The journal of the run holds an entry that this kit cannot read: --json prints it as it is.`,
      `${ids[2]}: A segment of the journal of the run is no list: --json prints it as it is.`,
    ]);
  });
});

test('a wrong choice of runs ends with 2', async () => {
  const refused: readonly (readonly string[])[] = [
    ['cancel'],
    ['cancel', '1', '--handler', 'h'],
    ['cancel', '--status', 'failed'],
    ['rerun'],
    ['rerun', '--handler', 'h'],
    ['rerun', '--status', 'running', '--yes'],
    ['rerun', '--status', 'failed', '--idempotency-key', 'k'],
  ];
  for (const args of refused) expect(await svc('runs', ...args), args.join(' ')).toMatchObject({ code: 2 });
});

test('a dry run of one run changes nothing', async () => {
  const [id = ''] = await started('t', 1);
  expect(await svc('runs', 'cancel', id, '--dry-run')).toMatchObject({
    code: 0,
    stderr: '1 run would be cancelled.\n',
  });
  const shown = json<ExecutionRun>((await svc('runs', 'show', id, '--output', 'json')).stdout);
  expect(shown.status).toBe('queued');
});
