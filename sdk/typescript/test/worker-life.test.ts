import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorker } from '../src/worker/index.ts';
import { settleWorker } from '../src/worker/options.ts';
import type { LeaseListener } from '../src/worker/renewals.ts';
import { ThreadRenewals } from '../src/worker/thread-renewals.ts';
import { type Answer, foreign, hangUp, json, ManualTime, problem, Stage } from './stage.ts';
import {
  aborted,
  stagedLease as lease,
  moment,
  stagedRun as run,
  staged,
  WorkPlace,
} from './worker-stage.ts';

const nothing: Answer = (response) => response.writeHead(204).end();
const pathsOf = ({ seen }: Stage) =>
  seen.map(({ target }) => target.replace('/execution/workers/leases', ''));

describe('a lease request', () => {
  test('that failed is repeated after pauses that grow up to a bound', async () => {
    const tooMany = problem(429, 'rate_limited', {}, { 'retry-after': '7' });
    await using stage = await Stage.open(foreign(502), hangUp, foreign(502), tooMany, nothing);
    const time = new ManualTime();
    await using worker = staged(stage, time, { backoffSecondsMax: 3, idleSeconds: 11 });
    void worker.run();
    for (const [n, delay] of [1_000, 2_000, 3_000, 7_000, 11_000].entries()) {
      await time.awaited(delay);
      expect(stage.seen).toHaveLength(n + 1);
      time.go(delay);
    }
    await time.awaited(11_000);
    expect(stage.seen).toHaveLength(6);
    expect(JSON.parse(String(stage.seen[0]?.body))).toEqual({
      workerId: 'w',
      handlerIds: ['a'],
      ttlSeconds: 60,
      waitSeconds: 20,
    });
  });

  test('is repeated after a random pause', async () => {
    await using stage = await Stage.open(foreign(502), nothing);
    const time = new ManualTime();
    await using worker = staged(stage, time);
    time.chance = 0.25;
    void worker.run();
    await time.awaited(250);
  });
});

describe('a lease', () => {
  test('that is not renewed before its end is lost, and its run is not completed', async () => {
    await using stage = await Stage.open(json(lease), hangUp);
    const time = new ManualTime();
    const reason = moment<unknown>();
    await using worker = staged(stage, time, {
      heartbeatSeconds: 15,
      handlers: { a: async ({ signal }) => reason.come(await aborted(signal)) },
    });
    const delivered = expect(worker.deliver({ runId: '1' })).rejects.toThrow('not completed');
    await time.pass(15_000);
    await time.pass(250);
    await time.awaited(500);
    time.go(44_749);
    expect(time.pending).toContain(60_000);
    time.go(1);
    expect(await reason.came).toMatchObject({ kind: 'lease_lost' });
    await delivered;
    expect(new Set(pathsOf(stage))).toEqual(new Set(['', '/heartbeat']));
  });

  test('lasts as long as the last heartbeat answered', async () => {
    await using stage = await Stage.open(json(lease), json(lease), hangUp);
    const time = new ManualTime();
    const done = moment();
    const reason = moment<unknown>();
    await using worker = staged(stage, time, {
      heartbeatSeconds: 50,
      handlers: {
        a: async ({ signal }) => {
          void aborted(signal).then(reason.come);
          await done.came;
        },
      },
    });
    const delivered = worker.deliver({ runId: '1' }).catch(() => null);
    // The first heartbeat comes no later than at half of the lease.
    await time.pass(30_000);
    await time.awaited(50_000);
    time.go(49_999);
    time.go(10_001);
    expect(await reason.came).toMatchObject({ kind: 'lease_lost' });
    done.come();
    await delivered;
  });

  test('of an unknown handler is completed as failed', async () => {
    const foreignRun = { ...lease, run: { ...run, handlerId: 'b' } };
    await using stage = await Stage.open(json(foreignRun), json(run));
    await using worker = staged(stage, new ManualTime());
    expect(await worker.deliver({ runId: '1' })).toBe('executed');
    expect(JSON.parse(String(stage.seen[1]?.body))).toMatchObject({
      result: { status: 'failed', failureClass: 'handler_missing' },
    });
  });

  test('of a run with a requested cancellation is completed without its handler', async () => {
    const toEnd = { ...lease, run: { ...run, cancellationRequested: true } };
    await using stage = await Stage.open(json(toEnd), json(run));
    let calls = 0;
    await using worker = staged(stage, new ManualTime(), { handlers: { a: () => (calls += 1) } });
    expect(await worker.deliver({ runId: '1' })).toBe('executed');
    expect(JSON.parse(String(stage.seen[1]?.body))).toMatchObject({ result: { status: 'cancelled' } });
    expect(calls).toBe(0);
  });

  test('that ends before its completion is confirmed gets no further request', async () => {
    await using stage = await Stage.open(json(lease), foreign(500));
    const time = new ManualTime();
    await using worker = staged(stage, time, { heartbeatSeconds: 59 });
    const delivered = expect(worker.deliver({ runId: '1' })).rejects.toThrow('not completed');
    for (const delay of [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000]) await time.pass(delay);
    // The first heartbeat, at half of the lease, fails as the completion does.
    await time.pass(8_000);
    for (const delay of [8_000, 8_000, 8_000]) await time.pass(delay);
    await delivered;
    expect(pathsOf(stage).filter((path) => path === '/complete')).toHaveLength(12);
  });
});

describe('the thread that renews', () => {
  test('gets fresh credentials each time before it may use them', async () => {
    const beats = moment();
    let beaten = 0;
    await using stage = await Stage.open((response, request) => {
      if (request.target.endsWith('/heartbeat') && (beaten += 1) === 3) beats.come();
      json(request.target.endsWith('/leases') ? lease : request.target.endsWith('/heartbeat') ? lease : run)(
        response,
        request,
      );
    });
    let asked = 0;
    const client = stage.client({
      apiKey: () => `key-${(asked += 1)}`,
      token: () => Promise.resolve('token'),
    });
    const handlers = { a: () => beats.came };
    await using worker = createWorker({ client, workerId: 'w', handlers, heartbeatSeconds: 0.02 });
    expect(await worker.deliver({ runId: '1' })).toBe('executed');
    const sent = stage.seen.filter(({ target }) => target.endsWith('/heartbeat'));
    const keys = sent.map(({ headers }) => String(headers['x-svc-api-key']));
    expect(keys.every((key) => /^key-\d+$/.test(key))).toBe(true);
    expect(new Set(keys).size).toBeGreaterThan(1);
    expect(sent[0]?.headers['x-serverless-authorization']).toBe('Bearer token');
  });

  test('keeps its credentials where the worker cannot get fresh ones', async () => {
    const beats = moment();
    let beaten = 0;
    await using stage = await Stage.open((response, request) => {
      const isBeat = request.target.endsWith('/heartbeat');
      if (isBeat && (beaten += 1) === 2) beats.come();
      json(isBeat || request.target.endsWith('/leases') ? lease : run)(response, request);
    });
    let asked = 0;
    const apiKey = () => {
      asked += 1;
      // The lease request, the start of the thread, and the completion.
      if (beaten > 0 && beaten < 2) throw new Error('the key cannot be had');
      return 'key';
    };
    const messages: string[] = [];
    const client = stage.client({ apiKey });
    await using worker = createWorker({
      client,
      workerId: 'w',
      handlers: { a: () => beats.came },
      heartbeatSeconds: 0.02,
      log: ({ message }) => messages.push(message),
    });
    expect(await worker.deliver({ runId: '1' })).toBe('executed');
    expect(asked).toBeGreaterThan(2);
    expect(messages).toContain('no fresh credentials to renew leases with');
  });

  test('loses its leases when it ends', async () => {
    await using stage = await Stage.open(json(lease));
    const settings = settleWorker({ client: stage.client(), workerId: 'w', handlers: { a: () => null } });
    const renewals = new ThreadRenewals(settings);
    const lost = moment();
    const ignored = () => undefined;
    const listener: LeaseListener = {
      renewed: ignored,
      cancelled: ignored,
      failed: ignored,
      lost: lost.come,
    };
    const kept = await renewals.keep({ leaseKey: 'k', leaseToken: 't', workerId: 'w' }, 60_000, listener);
    expect(await kept.leftMs()).toBeGreaterThan(30_000);
    const question = kept.leftMs();
    await renewals.close();
    await lost.came;
    expect([await question, await kept.leftMs()]).toEqual([expect.toSatisfy((left) => left !== 0), null]);
  });
});

describe('a worker that stops', () => {
  let place: WorkPlace;
  beforeAll(async () => {
    place = await WorkPlace.open(10);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test('aborts a lease request that waits at the service', async () => {
    await using way = await place.way();
    const worker = place.worker({ h0: () => null }, { way });
    const running = worker.run();
    await way.awaited('leases');
    await worker.stop();
    await running;
    expect(way.sent).toHaveLength(1);
    await expect(worker.deliver({ runId: '1' })).rejects.toThrow('The worker stops.');
    await expect(worker.run()).rejects.toThrow('was run already');
  });

  test('executes a run that it has just requested', async () => {
    const asked = moment();
    const answered = moment();
    const late: Answer = (response, request) => {
      asked.come();
      void answered.came.then(() => json(lease)(response, request));
    };
    await using stage = await Stage.open(late, json(run));
    const time = new ManualTime();
    const worker = staged(stage, time);
    const running = worker.run();
    await asked.came;
    time.go(999);
    const stopped = worker.stop();
    answered.come();
    await Promise.all([stopped, running]);
    expect(pathsOf(stage)).toEqual(['', '/complete']);
  });

  test.each([
    ['less, once a second is over', 200, 800],
    ['longer', 1_000, 0],
  ])('aborts a lease request that waits for %s', async (_, asking, more) => {
    const asked = moment();
    await using stage = await Stage.open(() => asked.come());
    const time = new ManualTime();
    const worker = staged(stage, time);
    const running = worker.run();
    await asked.came;
    time.go(asking);
    const stopped = worker.stop();
    if (more > 0) await time.pass(more);
    await Promise.all([stopped, running]);
    expect(pathsOf(stage)).toEqual(['']);
  });

  test('without a grace period waits for no answer', async () => {
    const asked = moment();
    await using stage = await Stage.open(() => asked.come());
    const worker = staged(stage, new ManualTime());
    const running = worker.run();
    await asked.came;
    await Promise.all([worker.stop({ graceSeconds: 0 }), running]);
    expect(pathsOf(stage)).toEqual(['']);
  });

  test.each(['signal', 'dispose'])('is also stopped by its %s', async (by) => {
    const controller = new AbortController();
    await using way = await place.way();
    const worker = place.worker({ h1: () => null }, { way, signal: controller.signal });
    const running = worker.run();
    await way.awaited('leases');
    if (by === 'signal') controller.abort();
    else await worker[Symbol.asyncDispose]();
    await running;
    await place.worker({ h1: () => null }, { signal: AbortSignal.abort() }).run();
  });

  test('lets its handlers end within the grace period', async () => {
    const begun = moment();
    const end = moment();
    const started = await place.start('h2');
    const worker = place.worker({
      h2: async ({ report }) => {
        begun.come();
        await end.came;
        await report({ progress: 0.5 });
        return 'in time';
      },
    });
    const running = worker.run();
    await begun.came;
    const stopped = worker.stop();
    end.come();
    await Promise.all([stopped, running]);
    const { status, result } = await place.client.getExecutionRun(started.id);
    expect([status, result]).toEqual(['succeeded', 'in time']);
  });

  test('aborts its handlers after the grace period, and completes nothing', async () => {
    const begun = moment();
    const reason = moment<unknown>();
    const end = moment();
    const started = await place.start('h3');
    const time = new ManualTime();
    await using way = await place.way();
    const client = place.clientWith({ world: time, baseUrl: way.address });
    const worker = place.worker(
      {
        h3: async ({ signal }) => {
          begun.come();
          reason.come(await aborted(signal));
          await end.came;
          return 'too late';
        },
      },
      { client },
    );
    const running = worker.run();
    await begun.came;
    const stopped = worker.stop({ graceSeconds: 5 });
    await time.pass(1_000);
    await time.pass(4_000);
    expect(await reason.came).toMatchObject({ kind: 'stopping' });
    // The worker waits only shortly for a handler that ignores its signal, and gives its run back.
    await time.pass(1_000);
    await Promise.all([stopped, running]);
    end.come();
    expect(way.at('leases/complete')).toEqual([]);
    expect(way.at('leases/release')).toHaveLength(1);
    const { status, attempt } = await place.client.getExecutionRun(started.id);
    expect([status, attempt]).toEqual(['queued', 1]);
    await place.client.cancelExecutionRun(started.id);
  });

  test('may give a run back any number of times, and the run still succeeds', async () => {
    const started = await place.start('h4');
    for (let deploy = 1; deploy <= 6; deploy += 1) {
      const begun = moment();
      const worker = place.worker({
        h4: async ({ signal }) => {
          begun.come();
          await aborted(signal);
          throw signal.reason;
        },
      });
      const running = worker.run();
      await begun.came;
      await worker.stop({ graceSeconds: 0 });
      await running;
    }
    await using last = place.worker({ h4: () => 'done' });
    expect(await last.deliver({ runId: started.id })).toBe('executed');
    const types = await place.historyOf(started);
    expect(types.filter((type) => type === 'lease.returned')).toHaveLength(6);
    expect(types).not.toContain('lease.expired');
  });
});
