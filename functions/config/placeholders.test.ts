import { expect, test } from 'vitest';
import { placeholdersIn } from './placeholders.ts';

const sources = ['svcsettings.json'];

test.each<[string, unknown, readonly string[]]>([
  ['an audience', ['https://own.host', 'https://svc.example.com'], ['Key:1 svc.example.com']],
  [
    'an account of a project',
    [{ principal: 'api@my-project.iam.gserviceaccount.com' }],
    ['Key:0 my-project'],
  ],
  ['a project', 'my-project', ['Key my-project']],
  ['a bucket of a project', 'my-project-svc-artifacts', ['Key my-project']],
  ['a queue of a project', 'projects/my-project/queues/runs', ['Key my-project']],
  [
    'both in one entry',
    [{ a: 'my-project', b: 'svc.example.com:443' }],
    ['Key:0 svc.example.com', 'Key:0 my-project'],
  ],
  ['another spelling', ['https://SVC.Example.com/'], ['Key:0 SVC.Example.com']],
])('finds %s', (_, value, expected) => {
  const found = placeholdersIn([{ key: 'Key', value, sources }]);
  expect(found.map(({ key, message }) => `${key} ${/^holds (\S+),/.exec(message)?.[1]}`)).toEqual(expected);
  expect(found.every(({ source }) => source === 'svcsettings.json')).toBe(true);
});

test.each([
  null,
  undefined,
  5,
  [],
  'my-project-2',
  'not-my-project',
  'https://svc.example.community',
  'https://my.svc.example.com',
  'https://svc-example.com',
  'example.com',
])('leaves %j alone', (value) => {
  expect(placeholdersIn([{ key: 'Key', value, sources: [] }])).toEqual([]);
});

test('names the default as the source where nothing sets the value', () => {
  expect(placeholdersIn([{ key: 'Key', value: 'my-project', sources: [] }])).toMatchObject([
    { source: 'default' },
  ]);
});
