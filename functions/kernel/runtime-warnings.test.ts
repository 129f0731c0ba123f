import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { LogEvent } from './log.ts';
import { logWarnings } from './runtime-warnings.ts';

test('a warning is a line of the log, and nothing else writes it', () => {
  const source = new EventEmitter();
  const printed: unknown[] = [];
  source.on('warning', (warning) => printed.push(warning));
  const lines: LogEvent[] = [];
  logWarnings(source, (line) => lines.push(line));
  const warning = Object.assign(new Error('a call is deprecated'), { name: 'DeprecationWarning' });
  source.emit('warning', warning);
  expect(printed).toEqual([]);
  expect(lines).toEqual([
    {
      severity: 'WARNING',
      message: 'A warning of the runtime or of a library',
      failure: expect.stringContaining('DeprecationWarning'),
    },
  ]);
});
