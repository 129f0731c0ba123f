import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { placeOf } from '../functions/compose/store.ts';
import { ToolError } from './output.ts';
import { argumentsOf, canonicalSibling, readStoreSettings, type StoreOptions } from './store-settings.ts';

const SECRET = 'hunter2-and-more';

interface World {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

function settingsOf(options: StoreOptions, { env = {}, files = {} }: World = {}) {
  return readStoreSettings(options, { env, readFile: (path) => files[path] });
}

function refusal(options: StoreOptions, world: World = {}): ToolError {
  try {
    settingsOf(options, world);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test.each([
  ['svc.sqlite', 'svc.canonical.sqlite'],
  ['.svc/svc.sqlite', '.svc/svc.canonical.sqlite'],
  ['/var/lib/records.db', '/var/lib/records.canonical.sqlite'],
  ['svc', 'svc.canonical.sqlite'],
  ['a.b/svc.v2.sqlite', 'a.b/svc.v2.canonical.sqlite'],
  ['svc.canonical.sqlite', 'svc.canonical.sqlite'],
])('beside the records in %s lies %s', (db, sibling) => {
  expect(canonicalSibling(db)).toBe(sibling);
});

describe('which database is meant', () => {
  const places: [string, StoreOptions, World, string][] = [
    ['the default', {}, {}, `sqlite ${resolve('.svc/svc.canonical.sqlite')}`],
    ['the sibling of the records', { db: 'a/svc.sqlite' }, {}, `sqlite ${resolve('a/svc.canonical.sqlite')}`],
    ['the file itself', { canonicalDb: 'x.db' }, {}, `sqlite ${resolve('x.db')}`],
    [
      'the file itself, before the sibling',
      { db: 'a.sqlite', canonicalDb: 'x.db' },
      {},
      `sqlite ${resolve('x.db')}`,
    ],
    [
      'what the environment says',
      {},
      {
        env: {
          CanonicalStore__Provider: 'postgresql',
          CanonicalStore__ConnectionString: `postgresql://u:${SECRET}@db.example/svc`,
        },
      },
      'postgresql db.example/svc',
    ],
    [
      'what a settings file says',
      { settings: 'there.json' },
      { files: { 'there.json': '{"CanonicalStore":{"DatabasePath":"/y.sqlite"}}' } },
      'sqlite /y.sqlite',
    ],
    [
      'a file named by an option, which wins over the environment',
      { canonicalDb: '/x.db' },
      {
        env: {
          CanonicalStore__Provider: 'postgresql',
          CanonicalStore__ConnectionString: `postgresql://u:${SECRET}@h/d`,
        },
      },
      'sqlite /x.db',
    ],
    [
      'another provider than the environment says',
      { provider: 'firestore', project: 'my-project' },
      { env: { CanonicalStore__ConnectionString: `postgresql://u:${SECRET}@h/d` } },
      'firestore my-project (default)',
    ],
    [
      'a project implies its provider',
      { project: 'my-project', database: 'second' },
      {},
      'firestore my-project second',
    ],
    [
      'an emulator',
      { project: 'demo-a', emulatorHost: '127.0.0.1:8080' },
      {},
      'firestore demo-a (default) on the emulator 127.0.0.1:8080',
    ],
    [
      'the scheme implies the provider',
      { connectionString: `mariadb://u:${SECRET}@h:3307/d` },
      {},
      'mysql h:3307/d',
    ],
    ['postgres is postgresql', { connectionString: `postgres://u:${SECRET}@h/d` }, {}, 'postgresql h/d'],
    [
      'a connection string in a file',
      { provider: 'postgresql', connectionStringFile: 'db.url' },
      { files: { 'db.url': `postgresql://u:${SECRET}@h/d?sslmode=disable\n` } },
      'postgresql h/d',
    ],
    [
      'a socket',
      { connectionString: 'postgresql:///postgres?host=%2Frun%2Fpg&user=svc' },
      {},
      'postgresql /run/pg/postgres',
    ],
    [
      'a text that is no URL is not shown',
      { provider: 'postgresql', connectionString: `host=h password=${SECRET}` },
      {},
      'postgresql',
    ],
    [
      'a password that is cut in two is not shown',
      { connectionString: `postgresql://u:12/${SECRET}@h/d` },
      {},
      'postgresql',
    ],
  ];
  test.each(places)('%s', (_, options, world, place) => {
    expect(placeOf(settingsOf(options, world))).toBe(place);
    expect(place).not.toContain(SECRET);
  });

  test('a setting of another part does not keep the tool from its work', () => {
    const env = { Environment: 'Production', Server__Port: 'x', Server__ApiKeyHashes__0: 'nonsense' };
    expect(settingsOf({}, { env }).canonicalStore.provider).toBe('sqlite');
  });

  test('an option wins over the environment', () => {
    const env = { CanonicalStore__DatabasePath: '/env.sqlite' };
    expect(settingsOf({ canonicalDb: '/option.sqlite' }, { env }).canonicalStore.databasePath).toBe(
      '/option.sqlite',
    );
  });
});

describe('options that contradict each other or the settings are refused', () => {
  const refusals: [string, StoreOptions, World, RegExp][] = [
    [
      'a provider that is none',
      { provider: 'oracle' },
      {},
      /CanonicalStore:Provider \(command line\): must be one of/,
    ],
    ['no connection string', { provider: 'mysql' }, {}, /the provider mysql needs one/],
    [
      'a connection string for a file',
      { connectionString: SECRET },
      {},
      /--connection-string is an option of postgresql and mysql, but the provider is sqlite \(the default\)/,
    ],
    [
      'a file for a server',
      { db: 'x', provider: 'postgresql' },
      {},
      /--db is an option of sqlite, but the provider is postgresql \(command line\)/,
    ],
    ['a file and a project', { db: 'x', project: 'my-project' }, {}, /--project is an option of firestore/],
    ['two connection strings', { connectionString: SECRET, connectionStringFile: 'f' }, {}, /not both/],
    ['a file of it that is missing', { connectionStringFile: 'f' }, {}, /^f: there is no such file$/],
    [
      'a file of it that is empty',
      { connectionStringFile: 'f' },
      { files: { f: ' \n' } },
      /^f: the file is empty$/,
    ],
    ['a settings file that is missing', { settings: 'nowhere.json' }, {}, /nowhere\.json: does not exist/],
    ['a settings file that is broken', {}, { files: { 'svcsettings.json': '{' } }, /is not valid JSON/],
    [
      'a setting that is misspelt',
      {},
      { env: { CanonicalStore__DatabsePath: '/x' } },
      /CanonicalStore:DatabsePath .*is not known; did you mean CanonicalStore:DatabasePath/,
    ],
    [
      'a store that is off',
      {},
      { env: { CanonicalStore__Enabled: 'false' } },
      /CanonicalStore:Enabled is false \(environment/,
    ],
    [
      'a connection string of the environment that no option speaks against',
      {},
      { env: { CanonicalStore__ConnectionString: SECRET } },
      /the provider sqlite takes none/,
    ],
  ];
  test.each(refusals)('%s', (_, options, world, message) => {
    const { message: refusalText } = refusal(options, world);
    expect(refusalText).toMatch(message);
    expect(refusalText).not.toContain(SECRET);
  });
});

test('options are settings, and nothing is set that no option names', () => {
  const readFile = () => undefined;
  expect(argumentsOf({}, { readFile })).toEqual([]);
  expect(argumentsOf({ settings: 'a b.json', db: 'x=y' }, { readFile })).toEqual([
    '--settings=a b.json',
    '--CanonicalStore:Provider=sqlite',
    '--CanonicalStore:DatabasePath=x=y.canonical.sqlite',
  ]);
});
