import { describe, expect, test } from 'vitest';
import { exitCodes } from '../output.ts';
import { apiKeyKind, type CredentialGiven, identityTokenKind, readCredential } from './credentials.ts';

const key = 'svc_live_0123456789';

/** Files by path; and the printed warnings. */
function inputs(files: Readonly<Record<string, string>> = {}) {
  const warnings: string[] = [];
  return {
    warnings,
    warn: (text: string) => void warnings.push(text),
    read: async (path: string) => {
      const content = files[path];
      if (content === undefined) throw new Error(`there is no ${path}`);
      return Buffer.from(content);
    },
  };
}

async function read(given: Partial<CredentialGiven>, files = {}, kind = apiKeyKind) {
  const own = inputs(files);
  return {
    value: await readCredential(kind, { onCommandLine: false, ...given }, own),
    warnings: own.warnings,
  };
}

describe('a credential comes from', () => {
  test('nowhere', async () => {
    expect(await read({})).toEqual({ value: undefined, warnings: [] });
    expect(await read({ text: '' })).toEqual({ value: undefined, warnings: [] });
  });

  test('the environment', async () => {
    expect(await read({ text: key })).toEqual({ value: key, warnings: [] });
  });

  test('a file or standard input, without the white space around it', async () => {
    expect(await read({ file: 'k' }, { k: `${key}\n` })).toEqual({ value: key, warnings: [] });
    expect(await read({ file: '-' }, { '-': ` ${key}\r\n` })).toEqual({ value: key, warnings: [] });
  });

  test('a file rather than the environment', async () => {
    expect(await read({ file: 'k', text: 'other' }, { k: key })).toEqual({ value: key, warnings: [] });
  });

  test('the command line, with a warning that does not repeat it', async () => {
    const { value, warnings } = await read({ text: key, onCommandLine: true });
    expect(value).toBe(key);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/--api-key-file or SVC_API_KEY/);
    expect(warnings[0]).not.toContain(key);
    const token = await read({ text: 'a.b.c', onCommandLine: true }, {}, identityTokenKind);
    expect(token.warnings[0]).toMatch(/--identity-token-file or SVC_IDENTITY_TOKEN/);
  });
});

describe('refused, without being repeated, is', () => {
  test.each<[string, Partial<CredentialGiven>, Record<string, string>, typeof apiKeyKind]>([
    [
      'one that is given twice',
      { text: 'hunter2', file: 'k', onCommandLine: true },
      { k: 'hunter2' },
      apiKeyKind,
    ],
    ['a key of two lines', { file: 'k' }, { k: 'hunter2\nhunter2' }, apiKeyKind],
    ['a key with a space', { text: 'hunter2 hunter2' }, {}, apiKeyKind],
    ['a key that would end the header', { text: 'hunter2\r\nX-Other: 1' }, {}, apiKeyKind],
    ['a key that is no ASCII', { text: 'hunter2é' }, {}, apiKeyKind],
    ['a key without end', { text: `hunter2${'x'.repeat(512)}` }, {}, apiKeyKind],
    ['an empty file', { file: 'k' }, { k: ' \n' }, apiKeyKind],
    ['a token with its scheme', { text: 'Bearer hunter2' }, {}, identityTokenKind],
    ['a token that is JSON', { text: '{"token":"hunter2"}' }, {}, identityTokenKind],
  ])('%s', async (_, given, files, kind) => {
    const error = await read(given, files, kind).then(
      () => expect.unreachable('it was taken'),
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: 'ToolError', exitCode: exitCodes.usage });
    expect((error as Error).message).not.toContain('hunter2');
  });
});
