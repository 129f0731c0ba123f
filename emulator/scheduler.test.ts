import { describe, expect, onTestFinished, test } from 'vitest';
import { startOidcIssuer } from './oidc-issuer.ts';
import { Scheduler } from './scheduler.ts';
import { retryDelayMs, type SchedulerJob, scheduled } from './scheduler-job.ts';
import { TimedWorld, target } from './tasks/stage.fixture.ts';
import { sendToTarget } from './tasks/target-http.ts';

const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const isoAt = (ms: number) => new Date(start + ms).toISOString();

function jobOf(more: Partial<SchedulerJob> = {}): SchedulerJob {
  const oidc = { serviceAccountEmail: 'scheduler@local.example', audience: 'svc-local' };
  return { name: 'tidy', schedule: '* * * * *', target: 'http://127.0.0.1:9/', oidc, ...more };
}

/** A scheduler whose time the test advances; `world.answer` decides its targets' answers. */
function staged(...jobs: SchedulerJob[]) {
  const world = new TimedWorld();
  const logged: string[] = [];
  const mint = () => Promise.resolve('token');
  const scheduler = new Scheduler({ world, mint, log: (line) => logged.push(line) });
  for (const job of jobs) scheduler.add(job);
  return { world, scheduler, logged };
}

/** Targets that answer on the test's command. */
function held(world: TimedWorld) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { clock, timers, http } = world;
  const late: typeof http = async (call) => {
    await promise;
    return http(call);
  };
  return { world: { clock, timers, http: late }, answer: resolve };
}

test('a job sends a POST without a body, as Cloud Scheduler does, with a token that the issuer stands by', async () => {
  const issuer = await startOidcIssuer();
  onTestFinished(() => issuer.stop());
  const receiver = await target();
  const { clock, timers } = new TimedWorld();
  const scheduler = new Scheduler({
    world: { clock, timers, http: sendToTarget },
    mint: (claims) => issuer.mint(claims),
  });
  scheduler.add(jobOf({ target: `${receiver.url}/` }));
  const run = scheduler.run('tidy');
  const request = await receiver.next();
  request.answer(204);
  const { method, url: path, headers, body } = request;
  expect({ method, path, body }).toEqual({ method: 'POST', path: '/', body: '' });
  expect(headers).toMatchObject({
    'content-length': '0',
    'user-agent': 'Google-Cloud-Scheduler',
    'x-cloudscheduler': 'true',
    'x-cloudscheduler-jobname': 'tidy',
    'x-cloudscheduler-scheduletime': isoAt(0),
  });
  const claims = headers.authorization?.split('.')[1] ?? '';
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    iss: issuer.issuer,
    aud: 'svc-local',
    email: 'scheduler@local.example',
    iat: start / 1000,
  });
  expect(await run).toMatchObject({ succeeded: true, attempts: 1, message: 'HTTP status code 204' });
});

describe('a schedule', () => {
  test('is kept, in UTC', async () => {
    const { world, scheduler } = staged(
      jobOf({ name: 'often' }),
      jobOf({ name: 'daily', schedule: '0 3 * * *' }),
    );
    const due = () => world.sent.splice(0).map(({ call }) => call.headers['x-cloudscheduler-scheduletime']);
    await world.pass(2 * minute);
    expect(due()).toEqual([isoAt(minute), isoAt(2 * minute)]);
    await world.pass(3 * 60 * minute);
    const names = world.sent.filter(({ call }) => call.headers['x-cloudscheduler-jobname'] === 'daily');
    expect(names.map(({ at }) => at)).toEqual([3 * 60 * minute]);
    expect(scheduler.jobs()[1]).toMatchObject({
      nextAt: start + 27 * 60 * minute,
      running: false,
      skipped: 0,
      last: { dueAt: start + 3 * 60 * minute, succeeded: true },
    });
  });

  test('of a time that is further away than a timer reaches', async () => {
    const { world } = staged(jobOf({ schedule: '30 4 29 2 *' }));
    const day = 24 * 60 * minute;
    await world.pass(365 * 2 * day);
    expect(world.sent).toEqual([]);
    await world.pass(60 * day);
    expect(world.times).toEqual([Date.UTC(2028, 1, 29, 4, 30) - start]);
  });

  test.each([
    ['*/15 * * * *', '00:15'],
    ['5,10 * * * *', '00:05'],
    ['0 9-17 * * MON-FRI', '09:00'],
    ['0 0 31 * THU', '00:00'],
  ])('%s is understood', (schedule, time) => {
    // A date matches the day of the month or the day of the week if both are set: 2026-01-01 was a Thursday.
    const from = Date.UTC(2025, 11, 31, 23, 59);
    const next = scheduled(jobOf({ schedule })).nextAfter(schedule.endsWith('THU') ? from : start);
    expect(new Date(next ?? 0).toISOString()).toBe(`2026-01-01T${time}:00.000Z`);
  });

  test.each(['* * * *', '* * * * * *', '@daily', '0 0 L * *', '0 0 * * 1#2', '61 * * * *', '0 0 ? * *', ''])(
    '%j is refused',
    (schedule) => {
      expect(() => scheduled(jobOf({ schedule }))).toThrow();
    },
  );
});

test.each([
  [{ name: 'a/b' }, /The name of a job/],
  [{ target: 'http://example.com/' }, /a target on loopback/],
  [{ target: 'http://127.0.0.1.example.com/' }, /a target on loopback/],
] as const)('a job with %j is refused', (more, message) => {
  expect(() => staged(jobOf(more))).toThrow(message);
});

test('no two jobs have one name', () => {
  expect(() => staged(jobOf(), jobOf())).toThrow('There are two jobs tidy.');
});

describe('one run at a time', () => {
  test('a time that comes while the run before is under way is passed over, and counted', async () => {
    const { world, scheduler } = staged(jobOf({ attemptDeadlineMs: 150_000 }));
    world.answer = () => null;
    await world.pass(3 * minute);
    expect(world.times).toEqual([minute]);
    expect(scheduler.jobs()[0]).toMatchObject({ running: true, skipped: 2, last: null });
    world.answer = () => 200;
    await world.pass(minute);
    expect(world.times).toEqual([minute, 4 * minute]);
    expect(scheduler.jobs()[0]).toMatchObject({ running: false, last: { dueAt: start + 4 * minute } });
  });

  test('requests for a run during another run share the next run', async () => {
    const { world, scheduler } = staged(jobOf({ schedule: '0 0 1 1 *', attemptDeadlineMs: 1000 }));
    world.answer = () => null;
    const first = scheduler.run('tidy');
    const others = [scheduler.run('tidy'), scheduler.run('tidy')];
    await world.pass(999);
    expect(world.times).toEqual([0]);
    world.answer = () => 200;
    await world.pass(1);
    expect(await first).toMatchObject({ succeeded: false });
    for (const other of others)
      expect(await other).toMatchObject({ succeeded: true, startedAt: start + 1000 });
    expect(world.times).toEqual([0, 1000]);
    await scheduler.run('tidy');
    expect(world.times).toEqual([0, 1000, 1000]);
  });

  test('also where another caller asks at the moment that it ends', async () => {
    const { world, scheduler } = staged(jobOf({ schedule: '0 0 1 1 *', attemptDeadlineMs: 1000 }));
    world.answer = () => null;
    const second = scheduler.run('tidy')?.then(() => scheduler.run('tidy'));
    const third = scheduler.run('tidy');
    await world.pass(1500);
    expect(world.times).toEqual([0, 1000]);
    await world.pass(1500);
    expect(world.times).toEqual([0, 1000, 2000]);
    expect([(await second)?.startedAt, (await third)?.startedAt]).toEqual([start + 1000, start + 2000]);
  });

  test('there is no run of an unknown job', () => {
    expect(staged().scheduler.run('tidy')).toBeUndefined();
  });
});

describe('a run that fails', () => {
  test('waits for the next time of the schedule, and is logged', async () => {
    const { world, scheduler, logged } = staged(jobOf());
    world.answer = () => 503;
    await world.pass(2 * minute);
    expect(world.times).toEqual([minute, 2 * minute]);
    expect(scheduler.jobs()[0]?.last).toMatchObject({
      attempts: 1,
      succeeded: false,
      message: 'HTTP status code 503',
    });
    expect(logged).toHaveLength(2);
    expect(logged[0]).toBe("The scheduler's job tidy failed: HTTP status code 503");
  });

  test('is repeated as the job says', async () => {
    const retry = { retryCount: 3, minBackoffMs: 1000, maxBackoffMs: 3000 };
    const { world, scheduler } = staged(jobOf({ schedule: '1 0 * * *', retry }));
    world.answer = () => 500;
    await world.pass(10 * minute);
    expect(world.times).toEqual([0, 1000, 3000, 6000].map((later) => minute + later));
    expect(scheduler.jobs()[0]?.last).toMatchObject({ attempts: 4, succeeded: false });
  });

  test('ends with the first attempt that succeeds', async () => {
    const { world, scheduler } = staged(jobOf({ schedule: '1 0 * * *', retry: { retryCount: 5 } }));
    world.answer = () => (world.sent.length < 3 ? 500 : 200);
    await world.pass(10 * minute);
    expect(world.times).toEqual([minute, minute + 5000, minute + 15_000]);
    expect(scheduler.jobs()[0]?.last).toMatchObject({ attempts: 3, succeeded: true });
  });

  test('distinguishes an answer that came too late from a target that does not listen', async () => {
    const { world, scheduler } = staged(jobOf({ attemptDeadlineMs: 15_000 }));
    world.answer = () => null;
    const run = scheduler.run('tidy');
    await world.pass(15_000);
    expect(await run).toMatchObject({
      message: 'No response within the attempt deadline',
      endedAt: start + 15_000,
    });
    const { clock, timers } = world;
    const real = new Scheduler({
      world: { clock, timers, http: sendToTarget },
      mint: () => Promise.resolve('t'),
    });
    // The discard port, on which no process listens.
    real.add(jobOf({ target: 'http://127.0.0.1:9/' }));
    expect(await real.run('tidy')).toMatchObject({
      succeeded: false,
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  test('is not repeated for a time alone', () => {
    const retry = { maxRetryDurationMs: 60_000 };
    expect(retryDelayMs(jobOf({ retry }), { attempts: 1, firstAt: 0, now: 0 })).toBeNull();
  });

  test('is repeated until both limits are reached where both are given', () => {
    const retry = { retryCount: 2, maxRetryDurationMs: 60_000, minBackoffMs: 1000, maxDoublings: 0 };
    const delay = (attempts: number, now: number) =>
      retryDelayMs(jobOf({ retry }), { attempts, firstAt: 0, now });
    expect([delay(1, 0), delay(3, 10_000), delay(3, 58_000), delay(2, 99_000)]).toEqual([
      1000,
      3000,
      null,
      2000,
    ]);
  });
});

describe('a stop', () => {
  test('waits for the run under way, and nothing begins after it', async () => {
    const { world: timed } = staged();
    const { world, answer } = held(timed);
    const scheduler = new Scheduler({ world, mint: () => Promise.resolve('t') });
    scheduler.add(jobOf());
    const run = scheduler.run('tidy');
    const asked = scheduler.run('tidy');
    await timed.pass(1000);
    let over = false;
    const stopped = scheduler.stop(5000).then(() => {
      over = true;
    });
    await timed.pass(1000);
    expect(over).toBe(false);
    answer();
    await stopped;
    expect(await run).toMatchObject({ succeeded: true });
    expect(await asked).toMatchObject({ succeeded: false, message: 'The scheduler was stopped.' });
    const [before] = scheduler.jobs();
    await timed.pass(5 * minute);
    expect(timed.sent).toHaveLength(1);
    expect(scheduler.jobs()).toEqual([before]);
  });

  test('breaks off what takes longer than the grace, and waits for no repetition', async () => {
    const retry = { retryCount: 9, minBackoffMs: 3_600_000 };
    const { world, scheduler } = staged(jobOf(), jobOf({ name: 'again', retry }));
    world.answer = ({ call }) => (call.headers['x-cloudscheduler-jobname'] === 'again' ? 500 : null);
    const runs = [scheduler.run('tidy'), scheduler.run('again')];
    await world.pass(0);
    const stopped = scheduler.stop(5000);
    expect(await runs[1]).toMatchObject({ succeeded: false });
    await world.pass(5000);
    await stopped;
    expect(await runs[0]).toMatchObject({ message: 'The scheduler was stopped.', endedAt: start + 5000 });
    expect(world.sent).toHaveLength(2);
  });
});
