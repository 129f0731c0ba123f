import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { faultsText } from './fault.ts';
import { loadConfiguration } from './load.ts';

const secret = 'postgresql://svc:hunter2@db.example.com/svc';

function load(env: Record<string, string>) {
  return loadConfiguration({ host: 'embedded', env, argv: [], readFile: () => undefined });
}

function faultsOf(env: Record<string, string>): string {
  const { faults } = load(env);
  return faults.length === 0 ? '' : faultsText(faults);
}

describe('where the records are', () => {
  test.each([
    ['postgres', 'postgresql'],
    ['cloud-sql-postgres', 'postgresql'],
    ['AlloyDB-Postgres', 'postgresql'],
    ['mariadb', 'mysql'],
    ['cloud-sql-mysql', 'mysql'],
  ])('%s is the provider %s', (given, provider) => {
    const address = secret.replace(/^postgresql/, provider);
    const env = { SVC_CANONICAL_STORE_PROVIDER: given, SVC_CANONICAL_CONNECTION_STRING: address };
    expect(load(env).settings?.canonicalStore).toMatchObject({ provider, connectionsMax: 10 });
  });

  test.each(['postgresql', 'mysql'])('%s needs a connection string', (provider) => {
    expect(faultsOf({ CanonicalStore__Provider: provider })).toMatch(
      `is missing: the provider ${provider} needs one`,
    );
  });

  test.each(['sqlite', 'firestore'])('%s refuses one, because the data would not go there', (provider) => {
    const env = { CanonicalStore__Provider: provider, CanonicalStore__ConnectionString: secret };
    expect(faultsOf(env)).toMatch(`is set, but the provider ${provider} takes none`);
  });

  test.each([
    ['postgresql', 'mysql', 'mysql'],
    ['postgresql', 'mariadb', 'mysql'],
    ['mysql', 'postgresql', 'postgresql'],
    ['mysql', 'postgres', 'postgresql'],
  ])('%s refuses an address that begins with %s, without its text', (provider, scheme, other) => {
    const address = secret.replace(/^postgresql/, scheme);
    const env = { CanonicalStore__Provider: provider, CanonicalStore__ConnectionString: address };
    expect(faultsOf(env)).toMatch(
      `CanonicalStore:ConnectionString (environment variable CanonicalStore__ConnectionString): is an address of ${other}, but the provider is ${provider}`,
    );
    expect(faultsOf(env)).not.toMatch(/hunter2|db\.example/);
  });

  test('keywords of libpq are an address of postgresql', () => {
    const env = {
      CanonicalStore__Provider: 'postgresql',
      CanonicalStore__ConnectionString: 'host=mysql user=u',
    };
    expect(faultsOf(env)).toBe('');
  });

  test('without a canonical store nothing is asked for', () => {
    const env = { CanonicalStore__Enabled: 'false', CanonicalStore__Provider: 'mysql' };
    expect(faultsOf(env)).toBe('');
  });

  test('the connection string is a secret in every text that is made of the settings', () => {
    const env = { CanonicalStore__Provider: 'postgresql', CanonicalStore__ConnectionString: secret };
    const { settings } = load(env);
    expect(settings?.canonicalStore.connectionString?.reveal()).toBe(secret);
    expect(`${JSON.stringify(settings)}${inspect(settings, { depth: 9 })}`).not.toContain('hunter2');
    expect(faultsOf({ ...env, CanonicalStore__Provider: 'sqlite' })).not.toContain('hunter2');
  });
});
