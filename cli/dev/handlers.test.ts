import { expect, test } from 'vitest';
import { argumentsOf } from './arguments.ts';
import { handlersIn, inGroups } from './handlers.ts';
import { readyText } from './lines.ts';

const work = () => null;

test.each<[string, Record<string, unknown>]>([
  ['by their name', { handlers: { a: work } }],
  ['as the default', { default: { a: work } }],
  ['in the default', { default: { handlers: { a: work } } }],
  ['by their name before the default', { handlers: { a: work }, default: { b: work } }],
])('handlers are found %s', (_, exported) => {
  const found = handlersIn(exported);
  expect(typeof found === 'string' ? found : [...found]).toEqual([['a', work]]);
});

test.each<[string, Record<string, unknown>, RegExp]>([
  ['nothing', {}, /exports no handlers.*\n.*export const handlers/],
  ['null', { handlers: null }, /exports no handlers/],
  ['a list', { handlers: [work] }, /no object of functions/],
  ['a function', { default: work }, /no object of functions/],
  ['an empty object', { handlers: {} }, /are empty/],
  ['no function', { handlers: { a: work, b: 1 } }, /its handler "b" is not a function/],
])('a module that exports %s is refused with an example', (_, exported, message) => {
  expect(handlersIn(exported)).toMatch(message);
});

test('a worker takes 32 handlers at most', () => {
  const groups = inGroups(Array.from({ length: 65 }, (_, at) => at));
  expect(groups.map(({ length }) => length)).toEqual([32, 32, 1]);
  expect(inGroups([])).toEqual([]);
});

test('settings and the file are kept apart', () => {
  expect(argumentsOf(['--Records:Enabled=false', 'worker.ts', '--Environment=Test'])).toEqual({
    worker: 'worker.ts',
    settings: ['--Records:Enabled=false', '--Environment=Test'],
  });
  expect(argumentsOf([])).toEqual({ worker: null, settings: [] });
  for (const settings of [['--settings', 'own.json'], ['--settings=own.json'], ['--settings', '-own.json']])
    expect(argumentsOf([...settings, 'worker.ts'])).toEqual({ worker: 'worker.ts', settings });
  // The reader of the settings says that the path is missing.
  expect(argumentsOf(['--settings', '--Records:Enabled=false']).worker).toBeNull();
  expect(() => argumentsOf(['--Records:Enabled', 'false'])).toThrow(/--Records:Enabled is no option of dev/);
});

test('the lines to paste hold no open quote of a shell', () => {
  const shown = {
    address: 'http://127.0.0.1:1',
    hasDocs: false,
    hasMcp: false,
    data: '.svc',
    worker: 'w.ts',
    unknownIds: ['hidden'],
    keyHeader: null,
    keySource: null,
  };
  const text = readyText({ ...shown, handlerIds: ['hidden', "it's"] });
  expect(text).toContain(`-d '{"handlerId":"it'\\''s","payload"`);
  expect(text).toContain('curl -s http://127.0.0.1:1/health');
  expect(text).not.toContain('/docs');
  expect(readyText({ ...shown, handlerIds: null, keyHeader: 'X-Key' })).toContain(
    `/execution/runs -H "X-Key: $SVC_API_KEY" -H 'content-type`,
  );
  expect(text).toContain('Commit a document, start a run, look around:');
  // Without a worker the start would be rejected.
  expect(readyText({ ...shown, worker: null, handlerIds: null })).toMatch(
    /look around:\n.*\n.*\/health\n\nStart a run once a worker has asked\. .*\n  curl -s \S+\/execution\/runs [^\n]+$/,
  );
});
