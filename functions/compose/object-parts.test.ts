import { expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { lazy } from '../kernel/lazy.ts';
import type { RecordStore } from '../store/port.ts';
import { machine } from './machine.ts';
import { objectPartsOf } from './object-parts.ts';

test('the groups of a process share one count of bytes, and two processes do not', () => {
  const { settings } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile: () => undefined });
  if (settings === undefined) throw new Error('the settings have faults');
  const process = () => {
    const store = lazy<RecordStore>(
      () => Promise.reject(new Error('the test opens no store')),
      () => Promise.resolve(),
    );
    return { settings, world: machine, store };
  };
  const [first, second] = [process(), process()];
  expect(objectPartsOf(first).bytes).toBe(objectPartsOf({ ...first }).bytes);
  expect(objectPartsOf(first).bytes).not.toBe(objectPartsOf(second).bytes);
});
