import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RUN } from '../../cli/remote/answer-shape.ts';
import { type Ended, runTool, startTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** `svc runs` and `svc outbox` against a server that is open, with one handler of external workers. */

const folder = mkdtempSync(join(tmpdir(), 'svc-tool-runs-'));
let server: ServerProcess;
let at: { SVC_BASE_URL: string };
beforeAll(async () => {
  const handlers = ['ExecutionRuntime:ExternalHandlers:0:HandlerId=h'];
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, handlers);
  // The name that the clients use.
  at = { SVC_BASE_URL: server.address };
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const svc = (...args: string[]): Promise<Ended> => runTool(args, { env: at });
const json = (text: string) => JSON.parse(text) as never;

let keys = 0;
async function started(tag: string): Promise<string> {
  const body = JSON.stringify({ handlerId: 'h', payload: { a: 1 }, tags: { group: tag } });
  const key = ['--idempotency-key', `key-${(keys += 1)}`];
  const { stdout, stderr } = await svc('api', 'startExecutionRun', ...key, '--body', body);
  expect(stderr).toBe('');
  return (json(stdout) as { id: string }).id;
}

async function leased(): Promise<{ leaseKey: string; leaseToken: string; workerId: string }> {
  const body = JSON.stringify({ workerId: 'w', handlerIds: ['h'], ttlSeconds: 60 });
  const lease = json((await svc('api', 'leaseExternalExecutionRun', '--body', body)).stdout) as {
    leaseKey: string;
    leaseToken: string;
    workerId: string;
  };
  const { leaseKey, leaseToken, workerId } = lease;
  return { leaseKey, leaseToken, workerId };
}

const complete = (lease: object, result: object) =>
  svc('api', 'completeExternalExecutionLease', '--body', JSON.stringify({ ...lease, result }));

describe('svc runs', () => {
  test('lists, shows and cancels a run', async () => {
    const ids = [await started('cancelled'), await started('cancelled')];
    const listed = await svc('runs', 'list', '--tag', 'group=cancelled', '--status', 'queued');
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout).toMatch(/^ID +STATUS +HANDLER +FAILURES +CLAIMS +CREATED/);
    for (const id of ids) expect(listed.stdout).toContain(id);

    const one = await svc('runs', 'list', '--tag', 'group=cancelled', '--limit', '1', '--output', 'json');
    expect(json(one.stdout)).toEqual([expect.objectContaining({ id: ids[1], status: 'queued' })]);

    const shown = await svc('runs', 'show', ids[0] ?? '', '--history');
    expect(shown.stdout).toMatch(/status +queued/);
    expect(shown.stdout).toMatch(/status +queued\nfailures +0 of 1\nclaims +0\n/);
    expect(shown.stdout).toMatch(/payload a +1/);
    expect(shown.stdout).toContain('run.created');
    expect(shown.stdout).not.toContain('admission');

    const cancelled = await svc('runs', 'cancel', ids[0] ?? '');
    expect([cancelled.code, cancelled.stderr]).toEqual([0, '']);
    expect(cancelled.stdout).toMatch(/cancelled/);
    const again = await svc('runs', 'cancel', ids[0] ?? '', '--output', 'json');
    expect(json(again.stdout)).toMatchObject({ id: ids[0], status: 'cancelled' });
    await svc('runs', 'cancel', ids[1] ?? '');
  });

  test('watches a run until it ends, and says by its exit code whether it succeeded', async () => {
    const id = await started('watched');
    const watching = startTool(['runs', 'watch', id, '--output', 'json'], { env: at });
    await watching.says('queued, failures 0 of 1, claims 0');
    expect(await complete(await leased(), { status: 'succeeded', result: { done: 1 } })).toMatchObject({
      code: 0,
    });
    const { code, stdout } = await watching.ended;
    expect([code, json(stdout)]).toEqual([
      0,
      expect.objectContaining({ status: 'succeeded', result: { done: 1 } }),
    ]);

    const other = await started('watched');
    await svc('runs', 'cancel', other);
    expect(await svc('runs', 'watch', other)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/status +cancelled/),
    });
  });

  test('leaves a run alone that is watched no longer', async () => {
    const id = await started('left');
    const watching = startTool(['runs', 'watch', id], { env: at });
    await watching.says('queued');
    watching.process.kill('SIGINT');
    expect(await watching.ended).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(/Interrupted: the run goes on\n$/),
    });
    expect(await svc('runs', 'watch', id, '--wait-timeout', '0')).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('it goes on'),
    });
    await svc('runs', 'cancel', id);
  });

  test('a run that does not exist ends with 3, a wrong word with 2', async () => {
    for (const command of ['show', 'cancel', 'watch'])
      expect(await svc('runs', command, '00000000000000000001')).toMatchObject({ code: 3, stdout: '' });
    expect(await svc('runs', 'list', '--status', 'done')).toMatchObject({ code: 2 });
    expect(await svc('runs', 'list', '--limit', '0')).toMatchObject({ code: 2 });
    const twice = ['--server', 'http://127.0.0.1:1', '--base-url', 'http://127.0.0.1:2'];
    expect(await svc('runs', 'list', ...twice)).toMatchObject({
      code: 2,
      stderr: '--server and --base-url are the same option.\n',
    });
  });

  test('follows the pages of a list', async () => {
    const targets: string[] = [];
    const run = Object.fromEntries(RUN.members.map((name) => [name, null]));
    const paged = createServer((request, response) => {
      targets.push(request.url ?? '');
      const link = targets.length < 3 ? { link: `</execution/runs?page=${targets.length}>; rel="next"` } : {};
      response.writeHead(200, { 'content-type': 'application/json', ...link });
      response.end(JSON.stringify(Array.from({ length: 2 }, () => ({ ...run, id: String(targets.length) }))));
    });
    paged.listen(0, '127.0.0.1');
    await once(paged, 'listening');
    const address = `http://127.0.0.1:${(paged.address() as AddressInfo).port}`;
    const list = ['runs', 'list', '--output', 'json', '--base-url', address];
    const all = await runTool([...list, '--limit', '10']);
    expect((json(all.stdout) as { id: string }[]).map(({ id }) => id)).toEqual([
      '1',
      '1',
      '2',
      '2',
      '3',
      '3',
    ]);
    expect(targets).toEqual(['/execution/runs?limit=10', '/execution/runs?page=1', '/execution/runs?page=2']);
    targets.length = 0;
    const some = await runTool([...list, '--limit', '3']);
    expect(json(some.stdout)).toHaveLength(3);
    expect(some.stderr).toBe('More runs follow: --limit lists more than 3.\n');
    paged.close();
  });
});

describe('svc outbox', () => {
  const tenant = ['--tenant', 'letters'];

  /** Two events whose only delivery failed. */
  async function deadLetters(): Promise<string[]> {
    const outbox = ['a', 'b'].map((topic) => ({ topic, key: 'k', payload: {}, maxDeliveryAttempts: 1 }));
    const param = ['--param', 'tenantId=letters'];
    const key = ['--idempotency-key', `commit-${(keys += 1)}`];
    const made = await svc(
      'api',
      'commitCanonicalTransaction',
      ...param,
      ...key,
      '--body',
      JSON.stringify({ outbox }),
    );
    expect(made.stderr).toBe('');
    const taken = await svc(
      'api',
      'leaseCanonicalOutbox',
      ...param,
      '--body',
      '{"consumerId":"c","maxItems":10,"leaseSeconds":600}',
    );
    const leases = json(taken.stdout) as { event: { id: string }; leaseToken: string }[];
    for (const { event, leaseToken } of leases) {
      const body = JSON.stringify({ leaseToken, error: 'no way' });
      const released = await svc(
        'api',
        'releaseCanonicalOutbox',
        ...param,
        '--param',
        `eventId=${event.id}`,
        '--body',
        body,
      );
      expect(released.stderr).toBe('');
    }
    return leases.map(({ event }) => event.id);
  }

  test('lists dead letters and replays them', async () => {
    const ids = await deadLetters();
    expect(ids).toHaveLength(2);
    const listed = await svc('outbox', 'list', ...tenant, '--state', 'dead-letter');
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout).toMatch(/^ID +STATE +TOPIC +KEY +DELIVERIES/);
    expect(listed.stdout).toContain('no way');

    const tried = await svc('outbox', 'replay', ...tenant, '--dead-letters', '--topic', 'a', '--dry-run');
    expect(tried).toMatchObject({ code: 0, stdout: `${ids[0]}\n`, stderr: '1 events would be replayed.\n' });
    const replayed = await svc('outbox', 'replay', ...tenant, '--dead-letters', '--output', 'json');
    expect(json(replayed.stdout)).toEqual(ids.map((id) => ({ id, error: null })));

    const left = await svc('outbox', 'list', ...tenant, '--state', 'dead-letter', '--output', 'json');
    expect(json(left.stdout)).toEqual([]);
    const again = await svc('outbox', 'replay', ...tenant, ids[0] ?? '', 'unknown');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(/outbox_event_not_dead_lettered[^]*unknown: 404/);
  });

  test('needs to know which events', async () => {
    expect(await svc('outbox', 'replay', ...tenant)).toMatchObject({ code: 2 });
    expect(await svc('outbox', 'replay', ...tenant, 'e', '--dead-letters')).toMatchObject({ code: 2 });
    expect(await svc('outbox', 'list')).toMatchObject({ code: 2 });
  });
});
