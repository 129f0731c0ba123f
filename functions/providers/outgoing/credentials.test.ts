import { describe, expect, test } from 'vitest';
import { googleCredentials } from './google-credentials.ts';
import { secretFile } from './secret-file.ts';

describe('a secret file', () => {
  test('is read for each call, without white space at its ends', async () => {
    const texts = [' first\n', 'second'];
    const secret = secretFile(() => Promise.resolve(texts.shift() ?? ''));
    expect([await secret(), await secret()]).toEqual(['first', 'second']);
  });

  test.each<[string, () => Promise<string>]>([
    ['cannot be read', () => Promise.reject(new Error('EACCES /run/canary'))],
    ['is empty', () => Promise.resolve('\n')],
    ['holds two lines', () => Promise.resolve('canary\ncanary')],
    ['is too large', () => Promise.resolve('canary'.repeat(1_000))],
  ])('that %s is reported without its content and its path', async (_, read) => {
    const failure = await secretFile(read)().catch((error: unknown) => error);
    expect(failure).toMatchObject({ failureClass: 'configuration', providerStatus: 'secret_missing' });
    expect(String(failure)).not.toContain('canary');
  });
});

test('credentials that the platform does not give are a failure of the class auth', async () => {
  const http = () => Promise.reject(new Error('canary'));
  const failure = await googleCredentials(http)().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    failureClass: 'auth',
    providerStatus: 'credentials_missing',
    isRetryable: false,
  });
  expect(String(failure)).not.toContain('canary');
});
