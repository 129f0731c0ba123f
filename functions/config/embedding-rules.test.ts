import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { describeConfiguration } from './describe.ts';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';
import { settingsSchema } from './reference.ts';

const host = 'embedded' as const;
const openai = {
  Id: 'mine',
  Kind: 'openai-compatible',
  BaseAddress: 'http://127.0.0.1:11434/v1',
  Model: 'small',
  Dimensions: '3',
};
const vertex = {
  Id: 'cloud',
  Kind: 'vertex',
  ProjectId: 'my-project',
  LocationId: 'europe-west1',
  Model: 'text-embedding-005',
  Dimensions: '768',
};
const renamed = {
  Id: 'short',
  Kind: 'deterministic',
  Model: 'local-token-hash-embedding-v1',
  Dimensions: '16',
};

const argv = (entries: readonly object[], more: Readonly<Record<string, string>> = {}) => [
  ...entries.flatMap((entry, index) =>
    Object.entries(entry).map(([name, value]) => `--Providers:${index}:${name}=${String(value)}`),
  ),
  ...Object.entries(more).map(([key, value]) => `--${key}=${value}`),
];
/** The same entries as variables: keys come from there alone. */
const variables = (entries: readonly object[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    entries.flatMap((entry, index) =>
      Object.entries(entry).map(([name, value]) => [
        `Providers__${index}__${name.replaceAll(':', '__')}`,
        String(value),
      ]),
    ),
  );
const load = (entries: readonly object[], more: Readonly<Record<string, string>> = {}) =>
  loadConfiguration({ host, env: variables(entries), argv: argv([], more), readFile: () => undefined });
const faultOf = (...given: Parameters<typeof load>) => {
  const { faults } = load(...given);
  return faults.length === 0 ? '' : faultsText(faults);
};

test('the providers of the settings have their members', () => {
  const { settings } = load([openai, vertex, renamed], { 'Embeddings:Provider': 'short' });
  expect(settings?.providers.list.map(({ Id, Kind, Dimensions }) => [Id, Kind, Dimensions])).toEqual([
    ['mine', 'openai-compatible', 3],
    ['cloud', 'vertex', 768],
    ['short', 'deterministic', 16],
  ]);
  expect(settings?.providers.enableLiveTargets).toBe(false);
});

const chat = {
  Id: 'chat',
  Kind: openai.Kind,
  BaseAddress: openai.BaseAddress,
  Model: openai.Model,
  'Capabilities:0': 'ai.chat',
  'Capabilities:1': 'ai.toolPlan',
  OutputTokensMax: '100',
  InputPrice: '0.15',
  OutputPrice: '0.6',
};

test('a model that gives no vectors has no length of them, and does not serve embeddings', () => {
  expect(load([chat]).settings?.providers.list[0]).toMatchObject({
    Capabilities: ['ai.chat', 'ai.toolPlan'],
    InputPrice: 0.15,
    OutputPrice: 0.6,
  });
  const more = { 'Embeddings:Provider': 'chat', 'Providers:EnableLiveTargets': 'yes' };
  expect(faultOf([chat], more)).toContain('names no provider');
});

test.each(['true', '1', 'yes', 'ON', 'Enabled'])('%s lets the service call them', (word) => {
  const more = { 'Providers:EnableLiveTargets': word, 'Embeddings:Provider': 'mine' };
  expect(load([openai], more).settings?.providers.enableLiveTargets).toBe(true);
});

test('a provider over the network serves only where the service may call it', () => {
  expect(faultOf([openai], { 'Embeddings:Provider': 'mine' })).toContain(
    'Providers:EnableLiveTargets is false',
  );
  expect(faultOf([renamed], { 'Embeddings:Provider': 'short' })).toBe('');
  expect(faultOf([], { 'Embeddings:Provider': 'absent' })).toContain('names no provider');
});

describe('an entry is refused', () => {
  test.each<[string, readonly object[], string]>([
    ['without a kind', [{ Id: 'a' }], 'has no Kind'],
    ['without an address', [{ ...openai, BaseAddress: '' }], 'has no BaseAddress'],
    ['without a model', [{ ...vertex, Model: '' }], 'has no Model'],
    ['with the id of another', [openai, { ...vertex, Id: 'mine' }], 'which another provider has'],
    ['with an id of the service', [{ ...openai, Id: 'local-token-hash' }], 'which another provider has'],
    ['with two keys', [{ ...openai, ApiKey: 'k', ApiKeyFile: 'f' }], 'has both ApiKey and ApiKeyFile'],
    ['with a member of another kind', [{ ...vertex, ApiKey: 'k' }], 'for which the kind vertex has no use'],
    ['with another model of the service', [{ ...renamed, Model: 'other' }], 'names another Model'],
    ['with a member that is not known', [{ ...openai, ApiKye: 'k' }], 'did you mean Providers:<n>:ApiKey'],
    [
      'with credentials in its address',
      [{ ...openai, BaseAddress: 'http://a:b@c/v1' }],
      'without a user, a query and a fragment',
    ],
    [
      'with a query in its address',
      [{ ...openai, BaseAddress: 'https://c.test/v1?api-version=1' }],
      'without a user, a query and a fragment',
    ],
    [
      'with a fragment in its address',
      [{ ...openai, BaseAddress: 'https://c.test/v1#' }],
      'without a user, a query and a fragment',
    ],
    [
      'with an address that cannot be read',
      [{ ...openai, BaseAddress: 'https://[::1' }],
      'has a BaseAddress that cannot be read',
    ],
    ['with a share of nothing', [{ ...openai, SpaceSharePercent: '0' }], 'from 1 to 100'],
    ['with too long vectors', [{ ...openai, Dimensions: '8193' }], 'from 1 to 8192'],
    [
      'with the id of a reranker of the service',
      [{ ...openai, Id: 'local-token-overlap-reranker' }],
      'which another',
    ],
    ['with vectors of no length', [{ ...openai, Dimensions: '' }], 'has no Dimensions'],
    ['with a word that is no capability', [{ ...openai, 'Capabilities:0': 'ai.sing' }], 'one of ai.chat'],
    ['without any capability', [{ ...openai, Capabilities: '[]' }], 'has an empty list of Capabilities'],
    [
      'with a capability twice',
      [{ ...openai, 'Capabilities:0': 'ai.embedding', 'Capabilities:1': 'AI.embedding' }],
      'names a capability twice',
    ],
    [
      'of Google as a reranker',
      [{ ...vertex, 'Capabilities:0': 'ai.rerank' }],
      'the kind vertex does not have',
    ],
    [
      'with the length of vectors that it does not give',
      [{ ...openai, 'Capabilities:0': 'ai.chat' }],
      'has Dimensions, for which its Capabilities have no use',
    ],
    [
      'with the length of texts that it does not write',
      [{ ...openai, OutputTokensMax: '5' }],
      'has OutputTokensMax, for which its Capabilities have no use',
    ],
    [
      'of the service with a capability',
      [{ ...renamed, 'Capabilities:0': 'ai.chat' }],
      'has Capabilities, for which the kind deterministic has no use',
    ],
    ['with a price below nothing', [{ ...openai, InputPrice: '-1' }], 'a number from 0 to 100000'],
    ['with a price of seven decimals', [{ ...openai, InputPrice: '0.0000001' }], 'at most six decimals'],
  ])('%s', (_, entries, reason) => {
    expect(faultOf(entries)).toContain(reason);
  });

  test('if it and the settings of embeddings both set the length of its vectors', () => {
    const more = { 'Embeddings:Provider': 'short', 'Embeddings:Dimensions': '8' };
    expect(faultOf([renamed], more)).toContain('says how long its vectors are');
  });
});

describe('a key', () => {
  const plain = 'would send its key unencrypted';
  test.each([
    ['http://models.test/v1', true],
    ['http://10.0.0.7:8000/v1', true],
    ['http://127.0.0.1.models.test/v1', true],
    ['http://[fd00::1]/v1', true],
    ['https://models.test/v1', false],
    ['http://127.0.0.1:11434/v1', false],
    ['http://[::1]:11434/v1', false],
    ['http://localhost:11434/v1', false],
    ['http://2130706433:11434/v1', false],
  ])('for %s is refused: %s', (BaseAddress, isRefused) => {
    for (const key of [{ ApiKey: 'k' }, { ApiKeyFile: '/run/key' }]) {
      const entry = { ...openai, BaseAddress, ...key };
      expect(faultOf([entry]).includes(plain)).toBe(isRefused);
      expect(faultOf([{ ...entry, AllowsPlainHttp: 'true' }])).toBe('');
    }
    expect(faultOf([{ ...openai, BaseAddress }])).toBe('');
  });
});

test('the list may come from a file, and the switch from another source', () => {
  const file = JSON.stringify({ Providers: [{ ...openai, Dimensions: 3 }] });
  const { settings, faults } = loadConfiguration({
    host,
    env: { Providers__EnableLiveTargets: 'true' },
    argv: [],
    readFile: (path) => (path === 'svcsettings.json' ? file : undefined),
  });
  expect(faults).toEqual([]);
  expect(settings?.providers.list).toHaveLength(1);
  expect(settings?.providers.enableLiveTargets).toBe(true);
});

test('a key is shown nowhere', () => {
  const key = 'canary-of-a-provider';
  const given = (value: string) => variables([{ ...openai, ApiKey: value }]);
  const input = { host, env: given(key), argv: [], readFile: () => undefined };
  expect(loadConfiguration(input).faults).toEqual([]);
  expect(JSON.stringify(describeConfiguration(input))).not.toContain('canary');
  const wrong = { ...input, env: given(`${key} with a space`) };
  const { faults } = loadConfiguration(wrong);
  expect(faults).toHaveLength(1);
  expect(faultsText(faults)).not.toContain('canary');
});

test('a key in a file of settings or on the command line is refused, and not repeated', () => {
  const entry = { ...openai, ApiKey: 'canary-of-a-provider' };
  const onLine = { host, env: {}, argv: argv([entry]), readFile: () => undefined };
  const inFile = ['svcsettings.json', 'svcsettings.Development.json'].map((name) => ({
    ...onLine,
    argv: [],
    readFile: (path: string) => (path === name ? JSON.stringify({ Providers: [entry] }) : undefined),
  }));
  for (const [index, source] of [
    'command line',
    'svcsettings.json',
    'svcsettings.Development.json',
  ].entries()) {
    const { faults } = loadConfiguration([onLine, ...inFile][index] ?? expect.fail());
    expect(faults).toMatchObject([
      { key: 'Providers:0:ApiKey', source, message: expect.stringContaining('ApiKeyFile') },
    ]);
    expect(faultsText(faults)).not.toContain('canary');
  }
});

test('the schema of files takes the list, and an object of places beside the switch', () => {
  const validate = new Ajv2020({ strict: false }).compile(settingsSchema());
  const entry = { ...openai, Dimensions: 3 };
  expect(validate({ Providers: [entry] })).toBe(true);
  expect(validate({ Providers: { EnableLiveTargets: true, 0: entry } })).toBe(true);
  expect(validate({ Providers: { EnableLive: true } })).toBe(false);
  expect(validate({ Providers: [{ ...entry, Modle: 'x' }] })).toBe(false);
});
