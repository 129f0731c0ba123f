import { describe, expect, test } from 'vitest';
import type { RecordStore } from '../../store/port.ts';
import type { ServerDependencies } from './dependencies.ts';
import { recordsCheck } from './records-check.ts';

function checking(records: Partial<NonNullable<ServerDependencies['records']>>, development = false) {
  const pings: number[] = [];
  const outcome = { error: null as Error | null };
  const ping = async () => {
    pings.push(1);
    if (outcome.error !== null) throw outcome.error;
  };
  const store = async () => ({ ping }) as unknown as RecordStore;
  const check = recordsCheck({
    world: { timers: { after: () => () => {} } },
    development,
    records: { off: null, provider: 'sqlite', store, ...records },
  });
  return { check, pings, outcome };
}

describe('the readiness of records', () => {
  test('one answer of the database serves all readers of five seconds', async () => {
    const { check, pings, outcome } = checking({});
    const ok = {
      id: 'storage.records',
      status: 'ok',
      message: 'The store of records answers.',
      details: { enabled: true, store: 'sqlite' },
    };
    const traces = { ...ok, id: 'storage.traces', message: 'The store of traces answers.' };
    const both = [ok, traces];
    expect(await Promise.all([check(0), check(1), check(4_999)])).toEqual([both, both, both]);
    expect(pings).toHaveLength(1);
    outcome.error = new Error('the database has gone');
    expect(await check(4_999)).toEqual(both);
    expect(await check(5_000)).toMatchObject([
      { status: 'failed', message: 'The store of records does not answer.' },
      { status: 'failed', message: 'The store of traces does not answer.' },
    ]);
    expect(pings).toHaveLength(2);
  });

  test('only Development says why', async () => {
    for (const development of [true, false]) {
      const { check, outcome } = checking({}, development);
      outcome.error = new Error('the database has gone');
      const [found] = await check(0);
      expect(JSON.stringify(found).includes('the database has gone')).toBe(development);
    }
  });

  test('records that are off say why, and ask no database', async () => {
    const { check, pings } = checking({ off: 'Records:Enabled is false' });
    expect(await check(0)).toEqual([
      {
        id: 'storage.records',
        status: 'ok',
        message: 'Collections and records are off: Records:Enabled is false.',
        details: { enabled: false },
      },
    ]);
    expect(pings).toEqual([]);
  });

  test('a service without such operations has no check', async () => {
    const check = recordsCheck({ world: { timers: { after: () => () => {} } }, development: false });
    expect(await check(0)).toEqual([]);
  });
});
