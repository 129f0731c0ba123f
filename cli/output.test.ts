import { CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { SnapshotError } from '../functions/archives/snapshot-error.ts';
import { ServiceError } from '../functions/kernel/errors.ts';
import { ConnectionStringError, StoreError } from '../functions/store/port.ts';
import { restoreFailure, translations } from './failures.ts';
import { endingOf, exitCodes, resultText, stackOf, ToolError } from './output.ts';

test('exit codes are what scripts rely on', () => {
  expect(exitCodes).toEqual({
    ok: 0,
    failed: 1,
    usage: 2,
    notFound: 3,
    conflict: 4,
    auth: 5,
    unavailable: 6,
  });
});

const fileError = (code: string, path?: string) =>
  Object.assign(new Error('raw'), { code, syscall: 'open', ...(path === undefined ? {} : { path }) });

describe('how a command ends', () => {
  const endings: [string, unknown, number, string | null][] = [
    ['help', new CommanderError(0, 'commander.help', 'x'), 0, null],
    ['a command line that is not understood', new CommanderError(1, 'commander.unknownOption', 'x'), 2, null],
    ['a refusal of the tool', new ToolError('no such tenant', exitCodes.notFound), 3, 'no such tenant'],
    [
      'an archive that is damaged',
      new SnapshotError('hash_mismatch', 'is not the chunk', { object: 'chunk-000001.bin' }),
      1,
      'chunk-000001.bin: is not the chunk',
    ],
    [
      'a newer archive',
      new SnapshotError('newer_version', 'is newer'),
      1,
      'is newer (use a newer release of this tool)',
    ],
    [
      'a database that is away',
      new StoreError('unavailable', 'ECONNREFUSED'),
      6,
      'The database refused (unavailable): ECONNREFUSED',
    ],
    [
      'a database that is busy',
      new StoreError('contention', 'rivals'),
      6,
      'The database refused (contention): rivals',
    ],
    [
      'a connection string that is not understood',
      new ConnectionStringError('it is no URL'),
      2,
      'it is no URL',
    ],
    ['a disk that is full', new StoreError('full', 'x'), 1, 'The database refused (full): x'],
    [
      'a conflict with the ledger',
      new ServiceError('migration_checksum_conflict', 'held', {
        errors: [{ pointer: '/0/checksum', detail: 'd' }],
      }),
      4,
      'held (at /0/checksum)',
    ],
    ['a value that is wrong', new ServiceError('validation_failed', 'wrong'), 1, 'wrong'],
    ['a file that is not there', fileError('ENOENT', '/x/y'), 3, '/x/y: there is no such file or folder'],
    ['a folder that is not ours', fileError('EACCES', '/x'), 1, '/x: permission is denied'],
    ['a device that is full', fileError('ENOSPC'), 1, 'no space is left on the device'],
    ['a failure of another kind', fileError('EWEIRD', '/x'), 1, '/x: the file system answers EWEIRD'],
    ['an error of an unexpected class', new TypeError('a\n  b'), 1, 'a b'],
    ['nothing at all', new Error(''), 1, 'failed for an unknown reason'],
  ];
  test.each(endings)('%s', (_, error, exitCode, message) => {
    expect(endingOf(error, translations)).toEqual({ exitCode, message });
  });

  test('no message moves the cursor of a terminal', () => {
    const { message } = endingOf(new ToolError('a\x1b[2Jb\u202Ec\rd'), translations);
    expect(message).toBe('a\\u001b[2Jb\\u202ec\\u000dd');
  });

  test('a stack tells the causes', () => {
    const text = stackOf(new ToolError('outer', 1, { cause: new Error('inner') }));
    expect(text).toMatch(/^ToolError: outer\n[^]*caused by: Error: inner\n/);
  });
});

describe('the message of a failed restore', () => {
  const outcomes: [string, unknown, boolean, RegExp][] = [
    [
      'a refusal that is a sentence',
      new SnapshotError('order', 'Wrong.'),
      true,
      /^Wrong\. Nothing was replaced\.$/,
    ],
    ['a refusal', new SnapshotError('order', 'wrong'), true, /^wrong\. Nothing was replaced\.$/],
    [
      'a database that was never reached',
      new StoreError('unavailable', 'x'),
      false,
      /Nothing was replaced\.$/,
    ],
    [
      'a database that was lost',
      new StoreError('unavailable', 'x'),
      true,
      /is not known: the same restore may be run again\.$/,
    ],
    ['a disk that is full', new StoreError('full', 'x'), true, /Nothing was replaced\.$/],
  ];
  test.each(outcomes)('%s', (_, error, begun, message) => {
    const toolError = restoreFailure(error, begun);
    expect(toolError).toBeInstanceOf(ToolError);
    expect((toolError as ToolError).message).toMatch(message);
  });

  test('an error of another kind is passed on', () => {
    const error = new ToolError('x');
    expect(restoreFailure(error, true)).toBe(error);
  });
});

describe('a result', () => {
  const result = {
    tenantId: 'a',
    counts: { documents: 2 },
    contentHash: 'sha256:0',
    names: ['b', 'c'],
    none: null,
  };

  test('is JSON for programs', () => {
    expect(JSON.parse(resultText('json', result))).toEqual(result);
  });

  test('is a line each for people', () => {
    expect(resultText('table', result).split('\n')).toEqual([
      'tenant id         a',
      'counts documents  2',
      'content hash      sha256:0',
      'names             b, c',
      'none              -',
    ]);
  });
});
