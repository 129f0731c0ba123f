import { expect, test } from 'vitest';
import { describeConfiguration } from './describe.ts';
import type { ConfigurationInput } from './load.ts';

const described = (given: Partial<ConfigurationInput>) => {
  const input = { host: 'embedded', env: {}, argv: [], readFile: () => undefined, ...given } as const;
  const { settings, faults } = describeConfiguration(input);
  return { faults, of: (key: string) => settings.find((setting) => setting.key === key) };
};

test('every value is shown with where it comes from, the one in force', () => {
  const { of } = described({
    env: { PORT: '1', Server__Port: '2', Cors__AllowedOrigins__0: 'https://a.example' },
    readFile: (path) => (path === 'svcsettings.json' ? '{"Server":{"LogLevel":"info"}}' : undefined),
  });
  expect(of('Server:Port')).toMatchObject({ value: 2, sources: ['environment variable Server__Port'] });
  expect(of('Server:LogLevel')).toMatchObject({ value: 'info', sources: ['svcsettings.json'] });
  expect(of('Cors:AllowedOrigins')).toMatchObject({ value: ['https://a.example'] });
  expect(of('Server:Host')).toMatchObject({ value: '127.0.0.1', sources: [] });
});

test('no secret is shown, and of a hash not enough to search for its key', () => {
  const hash = `sha256:${'ab'.repeat(32)}`;
  const env = { SVC_API_KEY: 'hush-1', Server__ApiKeys__0: 'hush-2', Server__ApiKeyHashes__0: hash };
  const { of } = described({ env });
  expect(of('Server:ApiKey')?.value).toBe('[secret]');
  expect(of('Server:ApiKeys')?.value).toEqual(['[secret]']);
  expect(of('Server:ApiKeyHashes')?.value).toEqual(['sha256:abababab…']);
});

test('a configuration with faults is shown as far as it can be read', () => {
  const { of, faults } = described({ env: { PORT: 'x', Server__LogLevel: 'debug' } });
  expect(faults).toHaveLength(1);
  expect(of('Server:LogLevel')?.value).toBe('debug');
  expect(of('Server:Port')?.value).toBe(5220);
});
