import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { type Configuration, type ConfigurationInput, loadConfiguration } from './load.ts';
import type { Settings } from './table.ts';

type Given = Omit<Partial<ConfigurationInput>, 'readFile'> & { files?: Record<string, unknown> };

function load({ files = {}, host = 'embedded', env = {}, argv = [] }: Given): Configuration {
  const readFile = (path: string) => {
    const content = files[path];
    return content === undefined || typeof content === 'string' ? content : JSON.stringify(content);
  };
  return loadConfiguration({ host, env, argv, readFile });
}

function settingsOf(given: Given): Settings {
  const { settings, faults } = load(given);
  if (settings === undefined) throw new Error(faultsText(faults));
  return settings;
}

const faultsOf = (given: Given) =>
  load(given).faults.map(({ key, source, message }) => `${key} | ${source} | ${message}`);

describe('defaults', () => {
  test('the embedded server is a Development server on loopback over one file', () => {
    const settings = settingsOf({});
    expect(settings.service).toEqual({
      environment: 'Development',
      dataDirectory: '.svc',
      cloudService: null,
    });
    expect(settings.server).toEqual({
      host: '127.0.0.1',
      port: 5220,
      allowRemoteDevelopment: false,
      trustedProxyHops: 0,
      drainSeconds: 10,
      logFormat: null,
      logLevel: 'warning',
      validateResponses: true,
      messageBytesMax: null,
      bytesInFlightMax: 268_435_456,
      bytesInFlightPerCallerMax: 268_435_456,
      writeBytesPerMinute: 1_073_741_824,
      refusalDelayMs: 1000,
      requestsAtWorkMax: 128,
    });
    expect(settings.rateLimit).toEqual({ permitLimit: 6000, windowSeconds: 60, queueLimit: 0 });
    expect(settings.canonicalStore).toMatchObject({ enabled: true, provider: 'sqlite', grouping: true });
    expect(settings.security).toEqual({
      apiKeys: [],
      apiKeyHashes: [],
      apiKeyFile: null,
      apiKey: null,
      requireApiKey: null,
      apiKeyHeader: 'X-Svc-Api-Key',
    });
    expect(settings.cors.allowedOrigins).toContain('http://localhost:5173');
  });

  test('outside Development the strict values hold', () => {
    const argv = ['--environment=Production', '--CanonicalStore:Enabled=false'];
    const settings = settingsOf({ argv });
    expect(settings.rateLimit.permitLimit).toBe(120);
    expect(settings.cors.allowedOrigins).toEqual([]);
  });

  test('a function is a Production function over Firestore', () => {
    const settings = settingsOf({ host: 'functions', env: { CanonicalStore__Enabled: 'false' } });
    expect(settings.service.environment).toBe('Production');
    expect(settings.canonicalStore.provider).toBe('firestore');
  });
});

describe('sources', () => {
  const file = { Server: { Port: 1001 } };
  const overlay = { 'Server:Port': 1002 };
  const layers: [string, Given, number][] = [
    ['svcsettings.json', { files: { 'svcsettings.json': file } }, 1001],
    [
      'the file of the environment',
      { files: { 'svcsettings.json': file, 'svcsettings.Development.json': overlay } },
      1002,
    ],
    ['a short variable', { files: { 'svcsettings.Development.json': overlay }, env: { PORT: '1003' } }, 1003],
    ['a long variable', { env: { PORT: '1003', Server__Port: '1004' } }, 1004],
    ['the command line', { env: { Server__Port: '1004' }, argv: ['--Server:Port=1005'] }, 1005],
    ['a short option', { env: { Server__Port: '1004' }, argv: ['--port', '1006'] }, 1006],
  ];
  test.each(layers)('%s wins over what comes before it', (_, given, port) => {
    expect(settingsOf(given).server.port).toBe(port);
  });

  test('keys, variables and words are read in any case', () => {
    const settings = settingsOf({
      env: {
        SERVER__canonicalratelimit__PERMITLIMIT: '7',
        svc_data_dir: '/data',
        environment: 'DEVELOPMENT',
      },
      argv: ['--cors:ALLOWEDORIGINS:0=http://a.example', '--canonicalstore:provider=Local-SQLite'],
    });
    expect(settings.rateLimit.permitLimit).toBe(7);
    expect(settings.service).toMatchObject({ dataDirectory: '/data', environment: 'Development' });
    expect(settings.cors.allowedOrigins).toEqual(['http://a.example']);
    expect(settings.canonicalStore.provider).toBe('sqlite');
  });

  test('a blank value counts as not set', () => {
    const settings = settingsOf({
      env: { PORT: ' ', SVC_API_KEY: '' },
      files: { 'svcsettings.json': { Server: { Port: null } } },
    });
    expect(settings.server.port).toBe(5220);
    expect(settings.security.apiKey).toBeNull();
  });

  test('another file can be named, and brings its own overlay', () => {
    const files = { 'conf/a.json': { Server: { Port: 1 } }, 'conf/a.Staging.json': { Server: { Port: 2 } } };
    const argv = ['--settings', 'conf/a.json', '--environment=Staging', '--CanonicalStore:Enabled=false'];
    expect(settingsOf({ files, argv }).server.port).toBe(2);
    expect(settingsOf({ files, env: { SVC_SETTINGS: 'conf/a.json' } }).server.port).toBe(1);
    expect(faultsOf({ argv: ['--settings=none.json'] })).toEqual(['none.json | none.json | does not exist']);
  });

  test('the environment may come from the file, and chooses the overlay', () => {
    const files = {
      'svcsettings.json': { Environment: 'Staging', CanonicalStore: { Enabled: false } },
      'svcsettings.Staging.json': { Server: { Port: 9 } },
    };
    expect(settingsOf({ files }).server.port).toBe(9);
    const circular = { 'svcsettings.Development.json': { Environment: 'Production' } };
    expect(faultsOf({ files: circular }).join()).toContain('cannot be set by the file that it selects');
  });

  test('lists follow their numbers, not the order in which they were written', () => {
    const env = { Server__ApiKeys__10: 'c', Server__ApiKeys__2: 'b', Server__ApiKeys__0: 'a' };
    expect(settingsOf({ env }).security.apiKeys.map((key) => key.reveal())).toEqual(['a', 'b', 'c']);
    const files = {
      'svcsettings.json': { Cors: { AllowedOrigins: ['https://b.example', 'https://a.example'] } },
    };
    expect(settingsOf({ files }).cors.allowedOrigins).toEqual(['https://b.example', 'https://a.example']);
  });

  test('variables of other programs are left alone', () => {
    const env = { PATH: '/bin', GIT__x: '1', SVC_IDENTITY_TOKEN: 'of the tool', npm_config__x: 'y' };
    expect(load({ env }).faults).toEqual([]);
  });
});

describe('faults', () => {
  const cases: [string, Given, RegExp][] = [
    [
      'no number',
      { argv: ['--port=http'] },
      /Server:Port \| command line \| must be a whole number from 0 to 65535, not "http"/,
    ],
    [
      'too large',
      { env: { PORT: '65536' } },
      /Server:Port \| environment variable PORT \| must be a whole number/,
    ],
    ['no permits', { env: { Server__CanonicalRateLimit__PermitLimit: '0' } }, /from 1 to 100000/],
    ['long window', { env: { Server__CanonicalRateLimit__WindowSeconds: '86401' } }, /from 1 to 86400/],
    ['long queue', { env: { Server__CanonicalRateLimit__QueueLimit: '10001' } }, /from 0 to 10000/],
    ['no truth', { env: { CanonicalStore__Enabled: 'yes' } }, /must be true or false/],
    [
      'unknown provider',
      { env: { CanonicalStore__Provider: 'oracle' } },
      /must be one of sqlite, firestore, postgresql, mysql, not "oracle"/,
    ],
    [
      'misspelt key',
      { argv: ['--Server:Prot=1'] },
      /Server:Prot \| command line \| is not known; did you mean Server:Port\?/,
    ],
    [
      'misspelt in a list',
      { env: { Server__ApiKey__0: 'k' } },
      /Server:ApiKey:0 .* did you mean Server:ApiKeys:<n>\?/,
    ],
    [
      'misspelt member',
      { env: { Server__CanonicalAccess__IdentityPolicies__0__Principle: 'k' } },
      /did you mean Server:CanonicalAccess:IdentityPolicies:<n>:Principal\?/,
    ],
    ['misspelt variable', { env: { SVC_API_KEYS: 'k' } }, /SVC_API_KEYS \| .* did you mean SVC_API_KEY\?/],
    [
      'part of another release',
      { env: { Telemetry__Enabled: 'true' } },
      /Telemetry:Enabled \| environment variable Telemetry__Enabled \| is not known/,
    ],
    [
      'unknown section of a file',
      { files: { 'svcsettings.json': { Serverr: { Port: 1 } } } },
      /Serverr:Port \| svcsettings.json \| is not known; did you mean Server:Port/,
    ],
    [
      'no list',
      { files: { 'svcsettings.json': { Server: { ApiKeys: 'k' } } } },
      /is a list: write its items/,
    ],
    ['one key twice', { files: { 'svcsettings.json': { Server: { Port: 1, port: 2 } } } }, /is given twice/],
    ['broken file', { files: { 'svcsettings.json': '{"Server":{"ApiKey":"hush' } }, /is not valid JSON/],
    ['no object', { files: { 'svcsettings.json': '[]' } }, /must be a JSON object/],
    ['no option', { argv: ['serve'] }, /argument 1 \| command line \| options are written --Key=value/],
    [
      'no value',
      { argv: ['--port', '--Server:Host=::1'] },
      /Server:Host|port \| command line \| needs a value/,
    ],
    [
      'an option that is no setting',
      { argv: ['--nope'] },
      /^command line \| command line \| unknown option --nope \(--help lists them\)$/m,
    ],
    [
      'a mistyped command',
      { argv: ['devv'] },
      /^command line \| command line \| unknown command devv; did you mean dev\?$/m,
    ],
    ['a command that is an option', { argv: ['help'] }, /unknown command help; did you mean --help\?/],
    [
      'a command name after an option',
      { argv: ['--port=0', 'devv'] },
      /argument 2 \| command line \| options are written/,
    ],
    [
      'mixed keys',
      { env: { Server__ApiKeys__0: 'a' }, argv: ['--Server:ApiKeys:1=b'] },
      /Server:ApiKeys \| environment variable Server__ApiKeys__0, command line \| comes from several sources/,
    ],
    [
      'mixed policies',
      {
        files: {
          'svcsettings.json': { Server: { CanonicalAccess: { IdentityPolicies: [{ Principal: 'old@x' }] } } },
        },
        env: { Server__CanonicalAccess__IdentityPolicies__0__AllowedTenantIds__0: '*' },
      },
      /IdentityPolicies \| svcsettings.json, environment .* comes from several sources/,
    ],
    [
      'key required, none given',
      { env: { Server__RequireApiKey: 'true' } },
      /RequireApiKey .* there is no Server:ApiKey/,
    ],
    ['key in a taken header', { env: { SVC_API_KEY_HEADER: 'authorization' } }, /carries something else/],
    [
      'no policy outside Development',
      { argv: ['--environment=Production'] },
      /IdentityPolicies \| default \| is empty: in the environment Production/,
    ],
    ['no policy on functions', { host: 'functions' }, /does not start without a policy/],
    [
      'header mode outside Development',
      {
        argv: ['--environment=Production', '--Server:CanonicalAccess:AuthenticationMode=development-header'],
      },
      /refused outside Development/,
    ],
    ['open beyond loopback', { env: { Server__Host: '0.0.0.0' } }, /Server:Host .* Development is open/],
    [
      'open in the cloud',
      { host: 'functions', env: { K_SERVICE: 'canonical', SVC_ENVIRONMENT: 'Development' } },
      /open the service to everybody/,
    ],
  ];
  test.each(cases)('%s', (_, given, expected) => {
    expect(faultsOf(given).join('\n')).toMatch(expected);
  });

  test('all are reported at once, each with its key and source', () => {
    const faults = faultsOf({
      env: { PORT: 'x', SVC_CANONICAL_STORE_PROVIDER: 'y' },
      argv: ['--Server:Hots=z'],
      files: { 'svcsettings.json': { Cors: { AllowedOrigins: ['not an origin'] } } },
    });
    expect(faults).toHaveLength(4);
    expect(
      faults.every((fault) => /^\S+ \| (environment variable|command line|svcsettings)/.test(fault)),
    ).toBe(true);
  });

  test('of very many unknown keys the first hundred are listed, and the rest are counted', () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`Key${at}`, at]));
    const faults = faultsOf({ files: { 'svcsettings.json': { Server: { Prot: 1 }, ...many } } });
    expect(faults).toHaveLength(101);
    expect(faults[0]).toMatch(/did you mean Server:Port\?/);
    expect(faults[100]).toBe(
      'Key99 | svcsettings.json | is not known, and 19900 more after it; the first 100 are listed',
    );
  });

  test.each<[string, Given]>([
    ['an object', { files: { 'svcsettings.json': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}` } }],
    ['a list', { files: { 'svcsettings.json': `{"a":${'['.repeat(100_000)}1${']'.repeat(100_000)}}` } }],
    [
      'the overlay',
      { files: { 'svcsettings.Development.json': `{"a":${'['.repeat(99)}1${']'.repeat(99)}}` } },
    ],
    ['a variable', { env: { [`Server${'__a'.repeat(30_000)}`]: '1' } }],
    ['an argument', { argv: [`--Server${':a'.repeat(30_000)}=1`] }],
  ])('%s that nests too deep is refused, and all else is still read', (_, given) => {
    const faults = faultsOf({ ...given, argv: [...(given.argv ?? []), '--port=x'] });
    expect(faults).toEqual([
      expect.stringMatching(/nests deeper than 16 levels, and no setting does$/),
      expect.stringContaining('Server:Port | command line | must be a whole number'),
    ]);
  });

  test('a long unknown key is cut', () => {
    const [fault = ''] = faultsOf({ files: { 'svcsettings.json': { ['k'.repeat(100_000)]: 1 } } });
    expect(fault).toBe(`${'k'.repeat(256)}… | svcsettings.json | is not known`);
  });

  test('a store that is off needs neither a provider nor a policy', () => {
    const env = {
      SVC_CANONICAL_STORE_ENABLED: 'false',
      SVC_CANONICAL_STORE_PROVIDER: 'oracle',
      SVC_ENVIRONMENT: 'Production',
    };
    expect(settingsOf({ env }).canonicalStore.enabled).toBe(false);
  });

  test('an API key closes Development, which may then be reached from elsewhere', () => {
    const env = { Server__Host: '0.0.0.0', SVC_API_KEY: 'k' };
    expect(load({ env }).faults).toEqual([]);
    expect(load({ env: { Server__Host: '::', Server__AllowRemoteDevelopment: 'true' } }).faults).toEqual([]);
    expect(faultsOf({ env: { ...env, Server__RequireApiKey: 'false' } }).join()).toContain(
      'Development is open',
    );
  });
});

describe('secrets', () => {
  const hush = 'h\u00fcsh-hush';

  test('no fault quotes one', () => {
    const given: Given[] = [
      { env: { SVC_API_KEY: hush } },
      { env: { Server__ApiKeys__0: hush } },
      { env: { SVC_API_KEYS: hush, Server__ApiKee: hush } },
      { argv: ['--Server:ApiKey', hush, hush] },
      { argv: [`--Server:ApiKee=${hush}`] },
      { files: { 'svcsettings.json': { Server: { ApiKeys: hush } } } },
      { files: { 'svcsettings.json': `{"Server":{"ApiKey":"${hush}` } },
      { files: { 'svcsettings.json': `{"Server":{"ApiKey":"${hush}"}` }, env: { Server__ApiKey: hush } },
    ];
    for (const one of given) {
      const { faults } = load(one);
      expect(faults.length).toBeGreaterThan(0);
      expect(faultsText(faults)).not.toContain('sh-hush');
    }
  });

  test('no setting shows one unless it is asked to', () => {
    const settings = settingsOf({ env: { SVC_API_KEY: 'hush', Server__ApiKeys__0: 'hush' } });
    expect(JSON.stringify(settings)).not.toContain('hush');
    expect(inspect(settings, { depth: 9, showHidden: true })).not.toContain('hush');
    expect(String(settings.security.apiKey)).toBe('[secret]');
    expect(settings.security.apiKey?.reveal()).toBe('hush');
  });
});
