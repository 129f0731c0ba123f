import { describe, expect, test } from 'vitest';
import { cloudSettings } from '../../test/support/hosted.ts';
import { loadConfiguration } from '../config/load.ts';
import { adapterOf } from './adapter.ts';

const BASELINE = ['durable.runs', 'cancellation', 'retries', 'artifacts', 'trace.history', 'idempotency'];
const DISPATCH = ['local.dispatch', 'remote.orchestration'];
const OTHERS = [
  'in_process.handlers',
  'external.workers',
  'durable.timers',
  'external.events',
  'durable.waits',
  'leases',
  'restart.resume',
];

function capabilitiesWith(given: Readonly<Record<string, string>>): readonly string[] {
  const argv = Object.entries(given).map(([key, value]) => `--${key}=${value}`);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  return adapterOf(settings).capabilities;
}

describe.each([
  ['local', {}, 'local.dispatch'],
  ['google', cloudSettings, 'remote.orchestration'],
])('the adapter %s', (_, settings, dispatch) => {
  const capabilities = capabilitiesWith(settings);

  test('has every baseline capability, and none that is unknown', () => {
    expect(capabilities).toEqual(expect.arrayContaining(BASELINE));
    expect([...BASELINE, ...DISPATCH, ...OTHERS]).toEqual(expect.arrayContaining([...capabilities]));
    expect(new Set(capabilities).size).toBe(capabilities.length);
  });

  test('names its one dispatch model', () => {
    expect(capabilities.filter((id) => DISPATCH.includes(id))).toEqual([dispatch]);
  });
});

test('the adapter google has handlers of plugins only where a hosted worker executes them', () => {
  const { 'ExecutionRuntime:Google:WorkerUrl': workerUrl, ...without } = cloudSettings;
  expect(workerUrl).toBeDefined();
  expect(capabilitiesWith(cloudSettings)).toContain('in_process.handlers');
  expect(capabilitiesWith(without)).not.toContain('in_process.handlers');
});
