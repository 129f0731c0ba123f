import { describe, expect, test } from 'vitest';
import { checkConfiguration } from './check.ts';

function faults(host: 'embedded' | 'functions', ...given: readonly string[]): string[] {
  const argv = given.map((each) => (each.startsWith('--') ? each : `--Mcp:${each}`));
  const input = { host, env: {}, argv, readFile: () => undefined } as const;
  return checkConfiguration(input)
    .findings.filter(({ severity, key }) => severity === 'fault' && /^(Mcp|Server:Message)/.test(key))
    .map((found) => `${found.key} ${found.message}`);
}

describe('the settings of the MCP endpoint have a fault for', () => {
  test.each([
    ['no revision', ['Revisions=[]'], /Revisions is empty/],
    [
      'a revision that it does not know',
      ['Revisions:0=2025-11-25', 'Revisions:1=2024-11-05'],
      /Revisions:1 must be one of 2026-07-28/,
    ],
    [
      'an operation that it cannot offer',
      ['EnabledOperations:0=pruneTraces'],
      /names no operation .*: these are getHealth, .*queryRecords/,
    ],
    [
      'a preview among the operations that are on',
      ['PreviewTools=true', 'EnabledOperations:0=listProviders'],
      /names a preview, which Mcp:PreviewTools offers/,
    ],
    ['an operation that does not exist', ['DisabledOperations:0=nothing'], /names no operation/],
    [
      'an operation that is on and off',
      ['EnabledOperations:0=getRecord', 'DisabledOperations:0=getRecord'],
      /DisabledOperations, too/,
    ],
    [
      'a resource without issuers',
      ['ProtectedResource:Resource=https://a.example/mcp'],
      /AuthorizationServers is empty/,
    ],
    [
      'issuers without a resource',
      ['ProtectedResource:AuthorizationServers:0=https://b.example'],
      /Resource is missing/,
    ],
    [
      'a resource that ends with a slash',
      [
        'ProtectedResource:Resource=https://a.example/mcp/',
        'ProtectedResource:AuthorizationServers:0=https://b.example',
      ],
      /slash/,
    ],
    ...['https://a.example', 'https://a.example/svc/mcp', 'https://a.example/other?x=/mcp'].map(
      (address): [string, string[], RegExp] => [
        `the resource ${address}, whose path is not that of the endpoint`,
        [
          `ProtectedResource:Resource=${address}`,
          'ProtectedResource:AuthorizationServers:0=https://b.example',
        ],
        /must have the path \/mcp/,
      ],
    ),
  ])('%s', (_, given, words) => {
    const found = faults('embedded', ...given);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(words);
  });

  test.each([
    ['Server:ApiKey', '--Server:ApiKey=an-api-key-of-32-characters-long'],
    ['Server:ApiKeyHashes', `--Server:ApiKeyHashes:0=sha256:${'0'.repeat(64)}`],
    ['Server:ApiKeyFile', '--Server:ApiKeyFile=/run/secrets/keys'],
  ])('issuers of tokens beside %s, because a token in Authorization is then read as a key', (_, key) => {
    const metadata = [
      'ProtectedResource:Resource=https://a.example/mcp',
      'ProtectedResource:AuthorizationServers:0=https://b.example',
    ];
    expect(faults('embedded', ...metadata, key)).toEqual([
      'Mcp:ProtectedResource:Resource is set beside an API key, where a token in Authorization is read as a key: remove one of them',
    ]);
    expect(faults('embedded', ...metadata)).toEqual([]);
  });

  test('a body that the gateway in front does not carry', () => {
    const input = {
      host: 'functions',
      env: {},
      argv: ['--Mcp:BodyBytesMax=2097152', '--Server:MessageBytesMax=1048576'],
      readFile: () => undefined,
    } as const;
    const found = checkConfiguration(input).findings.filter(({ key }) => key === 'Mcp:BodyBytesMax');
    expect(found.map(({ message }) => message)).toEqual([
      'is more than Server:MessageBytesMax, which the platform in front carries',
    ]);
  });
});

test('limits of header fields above those of the server are refused', () => {
  expect(faults('embedded', 'HeaderCountMax=100000')[0]).toMatch(/must be a whole number/);
  expect(faults('embedded', 'HeaderBytesMax=1000000')[0]).toMatch(/must be a whole number/);
});

test('sound settings have none', () => {
  expect(
    faults(
      'embedded',
      'Enabled=true',
      'EnabledOperations:0=startExecutionRun',
      'DisabledOperations:0=getRecord',
      'ProtectedResource:Resource=https://a.example/mcp',
      'ProtectedResource:AuthorizationServers:0=https://b.example',
    ),
  ).toEqual([]);
});
