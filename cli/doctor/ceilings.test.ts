import { afterEach, expect, test } from 'vitest';
import { compose } from '../../functions/compose/compose.ts';
import { addUse } from '../../functions/quotas/usage-store.ts';
import { EXECUTION_SCOPE } from '../../functions/runs/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { type RunningService, startService } from '../../test/support/service.ts';
import { ceilingChecks } from './ceilings.ts';
import type { Check } from './check.ts';
import { storageChecks } from './storage.ts';

/** The warnings of `svc doctor` about ceilings that are nearly used up. */

let service: RunningService;
afterEach(() => service.close());

const CEILING = { 'ExecutionRuntime:MaxActiveRuns': '100', 'ExecutionRuntime:RunSharePercent': '25' };

async function start(settings: Readonly<Record<string, string>>): Promise<void> {
  service = await startService({ settings });
}

async function startRuns(tenantId: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const body = { handlerId: 'invoice.render', scope: { productId: 'p', tenantId } };
    const { status } = await service.call({ method: 'POST', path: '/execution/runs', body });
    expect(status).toBe(202);
  }
}

async function warnings(): Promise<readonly Pick<Check, 'id' | 'message'>[]> {
  const checks = await storageChecks(service.settings);
  expect(checks.find(({ id }) => id === 'database')?.status).toBe('ok');
  const near = checks.filter(({ id }) => id === 'active-runs' || id === 'quotas');
  for (const { status, remedy } of near) expect([status, typeof remedy]).toEqual(['warning', 'string']);
  return near.map(({ id, message }) => ({ id, message }));
}

test('the share of a tenant is warned of at four fifths, with its use and its setting', async () => {
  await start(CEILING);
  await startRuns('full', 19);
  await startRuns('other', 3);
  expect(await warnings()).toEqual([]);
  await startRuns('full', 1);
  expect(await warnings()).toEqual([
    {
      id: 'active-runs',
      message:
        '20 of 25 runs of the tenant full of product p are queued, running or waiting (ExecutionRuntime:RunSharePercent).',
    },
  ]);
});

test('full shares whose owners are not among the runs that are read are warned of without names', async () => {
  await start(CEILING);
  await startRuns('first', 3);
  const composed = compose(service.settings, { writeLog: () => undefined });
  const messages = async (runsRead: number) =>
    (await ceilingChecks(service.settings, await composed.store(), { runsRead })).map(
      ({ message }) => message,
    );
  await startRuns('second', 19);
  expect(await messages(3)).toEqual([]);
  await startRuns('second', 1);
  const further = 'hares of further tenants or spaces, which were not looked for, are nearly full.';
  expect(await messages(3)).toEqual([`S${further}`]);
  const second =
    '20 of 25 runs of the tenant second of product p are queued, running or waiting (ExecutionRuntime:RunSharePercent)';
  expect(await messages(4)).toEqual([`${second}.`]);
  await startRuns('third', 20);
  expect(await messages(4)).toEqual([`${second}; s${further}`]);
  await composed.close();
});

test('the ceiling of the deployment is warned of, also where many tenants share the runs', async () => {
  await start(CEILING);
  for (let tenant = 0; tenant < 5; tenant += 1) await startRuns(`tenant-${tenant}`, 16);
  expect(await warnings()).toEqual([
    {
      id: 'active-runs',
      message:
        '80 of 100 runs of the deployment are queued, running or waiting (ExecutionRuntime:MaxActiveRuns).',
    },
  ]);
});

test('an owner near its bound of stored bytes is a warning with its use and its setting', async () => {
  await start({ 'Quotas:TenantBytesMax': '1000', 'Quotas:SpaceBytesMax': '1000' });
  const composed = compose(service.settings, { writeLog: () => undefined });
  const store = await composed.store();
  const use = async (kind: 'tenants' | 'spaces', name: string, data: number) => {
    await addUse(store, { kind, name }, 0, { data, runs: 0 });
  };
  await use('tenants', 'acme', 800);
  await use('tenants', 'small', 799);
  await use('spaces', 'notes', 950);
  await composed.close();
  const [quotas] = await warnings();
  expect(quotas?.message).toBe(
    'The space notes has stored 950 of 1000 bytes (Quotas:SpaceBytesMax); the tenant acme has stored 800 of 1000 bytes (Quotas:TenantBytesMax).',
  );
});

test('ceilings that cannot be read are warnings beside a database that answers', async () => {
  await start({});
  const composed = compose(service.settings, { writeLog: () => undefined });
  const store = await composed.store();
  // A share with room for nothing more, and a run that holds no run.
  const counter = { key: { collection: 'counters', id: 'f'.repeat(32) }, head: { active: 1_000_000 } };
  const listing = { group: 'run', id: 'torn', hidden: false, indexes: { status: 'queued' } };
  const torn = { key: { collection: 'runs', id: 'e'.repeat(32) }, head: {}, listing };
  await store.transact(EXECUTION_SCOPE, { gate: torn.key, keys: [torn, counter] }, () => ({
    writes: [{ put: counter }, { put: torn }],
    result: null,
  }));
  await composed.close();
  expect(await warnings()).toEqual([
    {
      id: 'active-runs',
      message: 'The ceilings of active runs and jobs could not be read: a run record holds no run.',
    },
  ]);
});

test('ceilings that are not read in time are warnings', async () => {
  await start({});
  const world = new ManualWorld();
  const never = () => new Promise<never>(() => undefined);
  const hanging = { query: never, scan: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) };
  const looking = ceilingChecks(service.settings, hanging as unknown as RecordStore, {
    timers: world.timers,
  });
  world.advance(15_000);
  expect((await looking).map(({ id, message }) => [id, message])).toEqual([
    ['quotas', 'The bytes that owners have stored could not be read: no answer within 15 seconds.'],
    ['active-runs', 'The ceilings of active runs and jobs could not be read: no answer within 15 seconds.'],
  ]);
});
