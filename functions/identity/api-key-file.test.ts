import { describe, expect, test, vi } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createApiKeyFile } from './api-key-file.ts';
import { readApiKeyList } from './api-key-list.ts';
import { createApiKeys, createApiKeyText, hashApiKey } from './api-keys.ts';

const unavailable = expect.objectContaining({ code: 'unavailable' });
const [a, b] = [hashApiKey('a'), hashApiKey('b')];
const listOf = (...hashes: readonly string[]) =>
  JSON.stringify({ keys: hashes.map((hash, index) => ({ id: `key-${index}`, hash })) });

/** A file whose text a test changes; a text that is `null` cannot be read. */
function fileOf(text: string | null) {
  const world = new ManualWorld();
  const faults: string[] = [];
  const disk = { text };
  const read = vi.fn(async () => {
    if (disk.text === null) throw Object.assign(new Error(`ENOENT: no file, ${a}`), { code: 'ENOENT' });
    return disk.text;
  });
  const file = createApiKeyFile({
    read,
    clock: world.clock,
    timers: world.timers,
    reportFault: (fault) => void faults.push(fault),
  });
  return { world, faults, disk, read, file };
}

describe('a file of API keys that changes', () => {
  test('C04: a key that is taken out is refused within a minute, one that is added is accepted', async () => {
    const { world, disk, file } = fileOf(listOf(a));
    const keys = createApiKeys({ hashes: [], headerName: 'X-Svc-Api-Key', file });
    const check = (key: string) => keys.check(new Map([['x-svc-api-key', key]]));
    expect(await check('a')).toBe(true);
    disk.text = listOf(b);
    world.advance(60_000);
    await expect(check('a')).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
    expect(await check('b')).toBe(true);
  });

  test('it is read at most once in 30 seconds, and by one reader for all who ask together', async () => {
    const { world, read, file } = fileOf(listOf(a));
    expect(await Promise.all([file.hashes(), file.hashes(), file.hashes()])).toEqual([[a], [a], [a]]);
    world.advance(29_999);
    await file.hashes();
    expect(read).toHaveBeenCalledTimes(1);
    world.advance(1);
    await Promise.all([file.hashes(), file.hashes()]);
    expect(read).toHaveBeenCalledTimes(2);
    expect(world.pendingTimers).toBe(0);
  });

  test('no caller is checked against the old keys while the file is being read', async () => {
    const { world, disk, file } = fileOf(listOf(a));
    await file.hashes();
    disk.text = listOf(b);
    world.advance(30_000);
    expect(await Promise.all([file.hashes(), file.hashes()])).toEqual([[b], [b]]);
  });

  test('a key ends at its notAfter, to the millisecond and without another reading', async () => {
    const { world, read, file } = fileOf(null);
    const notAfter = new Date(world.now + 1000).toISOString();
    read.mockImplementation(async () => JSON.stringify({ keys: [{ id: 'x', hash: a, notAfter }] }));
    expect(await file.hashes()).toEqual([a]);
    world.advance(1000);
    expect(await file.hashes()).toEqual([a]);
    world.advance(1);
    expect(await file.hashes()).toEqual([]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  test('a clock that is set back during a reading does not begin another', async () => {
    const { world, read, file } = fileOf(listOf(a));
    const answers = [file.hashes()];
    world.now -= 1;
    answers.push(file.hashes());
    expect(await Promise.all(answers)).toEqual([[a], [a]]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  test('a clock that is set back leads to another reading, and not to older keys', async () => {
    const { world, disk, file } = fileOf(listOf(a));
    await file.hashes();
    disk.text = listOf(b);
    world.now -= 3_600_000;
    expect(await file.hashes()).toEqual([b]);
  });
});

describe('a file of API keys that cannot be read or understood', () => {
  test.each([
    ['cannot be read', null],
    ['is not understood', '{"keys":'],
  ])(
    'one that %s leaves the last good keys for a minute, then none, until it is good again',
    async (_, bad) => {
      const { world, faults, disk, file } = fileOf(listOf(a));
      await file.hashes();
      disk.text = bad;
      world.advance(30_000);
      expect(await file.hashes()).toEqual([a]);
      world.advance(29_999);
      expect(await file.hashes()).toEqual([a]);
      world.advance(1);
      await expect(file.hashes()).rejects.toThrow(unavailable);
      expect(faults.length).toBeGreaterThan(1);
      disk.text = listOf(b);
      world.advance(30_000);
      expect(await file.hashes()).toEqual([b]);
      // The minute of a later fault is a new one.
      disk.text = bad;
      world.advance(30_000);
      expect(await file.hashes()).toEqual([b]);
    },
  );

  test('C04: after hours without a request, every key of a file that cannot be read is refused', async () => {
    const { world, disk, file } = fileOf(listOf(a));
    expect(await file.hashes()).toEqual([a]);
    disk.text = listOf(b);
    world.advance(5 * 3_600_000);
    disk.text = null;
    await expect(file.hashes()).rejects.toThrow(unavailable);
  });

  test('while every key is refused, the file is read again after a second', async () => {
    const { world, disk, read, file } = fileOf(null);
    await expect(file.hashes()).rejects.toThrow(unavailable);
    disk.text = listOf(a);
    world.advance(999);
    await expect(file.hashes()).rejects.toThrow(unavailable);
    expect(read).toHaveBeenCalledTimes(1);
    world.advance(1);
    expect(await file.hashes()).toEqual([a]);
  });

  test('a clock that is set back does not make the minute longer', async () => {
    const { world, disk, file } = fileOf(listOf(a));
    await file.hashes();
    disk.text = null;
    world.advance(30_000);
    expect(await file.hashes()).toEqual([a]);
    world.now -= 1;
    await expect(file.hashes()).rejects.toThrow(unavailable);
  });

  test('without any good reading there are no keys', async () => {
    const { world, faults, disk, file } = fileOf(null);
    await expect(file.hashes()).rejects.toThrow(unavailable);
    expect(faults).toEqual(['The file of API keys was not taken: reading it failed with ENOENT.']);
    disk.text = listOf(a);
    world.advance(30_000);
    expect(await file.hashes()).toEqual([a]);
  });

  test('a reading that hangs is abandoned after 5 seconds, and its later result is ignored', async () => {
    const { world, faults, read, file } = fileOf(listOf(a));
    await file.hashes();
    const late = Promise.withResolvers<string>();
    read.mockImplementationOnce(() => late.promise);
    world.advance(30_000);
    const answer = file.hashes();
    await world.timerSet();
    world.advance(5000);
    expect(await answer).toEqual([a]);
    expect(faults).toEqual(['The file of API keys was not taken: reading it took longer than 5000 ms.']);
    late.resolve(listOf(b));
    await late.promise;
    expect(await file.hashes()).toEqual([a]);
  });

  test('a failure without a code, and a thrown value that is no Error, are reported without their text', async () => {
    for (const failure of [new Error(a), a, Object.assign(new Error(a), { code: `x ${a}` })]) {
      const { faults, read, file } = fileOf(listOf(a));
      read.mockImplementationOnce(() => {
        throw failure;
      });
      await expect(file.hashes()).rejects.toThrow(unavailable);
      expect(faults).toEqual(['The file of API keys was not taken: reading it failed.']);
    }
  });
});

describe('the text of the file', () => {
  test('it is read as written', () => {
    const text = `{ "keys": [
      { "id": "reporting-2026", "hash": "${a}", "notAfter": "2027-01-01T00:00:00Z" },
      { "id": "B_2.x", "hash": "${b}" } ] }`;
    expect(readApiKeyList(text)).toEqual([
      { id: 'reporting-2026', hash: a, notAfter: Date.UTC(2027, 0, 1) },
      { id: 'B_2.x', hash: b, notAfter: null },
    ]);
    expect(readApiKeyList('{"keys":[]}')).toEqual([]);
  });

  const clear = createApiKeyText(new ManualWorld().random);
  const key = (members: object) => ({ keys: [{ id: 'x', hash: a, ...members }] });
  const faulty: readonly [string, unknown][] = [
    ['the file is not JSON', `{"keys":[${clear}]}`],
    ['the file is not JSON', ''],
    ['the file is not an object', null],
    ['the file is not an object', []],
    ['keys is not an array', {}],
    ['keys is not an array', { keys: { [clear]: 1 } }],
    ['the file has a member that is none of keys', { keys: [], [clear]: 1 }],
    ['the file has a member that is none of keys', '{"keys":[],"__proto__":1}'],
    ['keys[0] is not an object', { keys: [clear] }],
    ['keys[0] has a member that is none of id, hash, notAfter', key({ [clear]: 1 })],
    ['keys[0] has a member that is none of id, hash, notAfter', key({ notafter: 1 })],
    ['keys[0].id is not', { keys: [{ hash: a }] }],
    ['keys[0].id is not', key({ id: '' })],
    ['keys[0].id is not', key({ id: `${clear} ${clear}` })],
    ['keys[0].hash is not', { keys: [{ id: 'x' }] }],
    ['keys[0].hash is not', key({ hash: clear })],
    ['keys[0].hash is not', key({ hash: a.toUpperCase() })],
    ['keys[0].hash is not', key({ hash: a.slice(7) })],
    ['keys[0].hash is not', key({ hash: `${a}\n` })],
    ...[
      clear,
      '2027-01-01',
      '2027-02-30T00:00:00Z',
      '2027-01-01T25:00:00Z',
      '2027-01-01T00:00:00',
      1,
      null,
    ].map((notAfter): [string, unknown] => ['keys[0].notAfter is not a moment', key({ notAfter })]),
    ['keys[1].id is that of keys[0]', { keys: [...key({}).keys, { id: 'x', hash: b }] }],
    ['keys[1].hash is that of keys[0]', { keys: [...key({}).keys, { id: 'y', hash: a }] }],
    ['keys[0].hash is given twice', `{"keys":[{"id":"x","hash":"${b}","hash":"${a}"}]}`],
    [
      'keys[0].notAfter is given twice',
      `{"keys":[{"id":"x","hash":"${a}","notAfter":"2020-01-01T00:00:00Z","notAfter":"2030-01-01T00:00:00Z"}]}`,
    ],
    ['keys is given twice', `{"keys":[{"id":"x","hash":"${a}"}],"keys":[]}`],
    ['a member is given twice', `{"keys":[{"${clear}":1,"${clear}":2}],"keys":[]}`],
    ['keys has more than 1000 entries', { keys: Array.from({ length: 1001 }, () => ({})) }],
  ];
  test.each(faulty)(
    'C01: a text is refused that has the fault “%s”, without quoting it',
    (message, content) => {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      expect(() => readApiKeyList(text)).toThrow(message);
      expect(() => readApiKeyList(text)).not.toThrow(clear);
    },
  );

  test('C01: a key in clear is reported as a fault without the key, and every key is refused', async () => {
    const { faults, file } = fileOf(listOf(clear));
    await expect(file.hashes()).rejects.toThrow(unavailable);
    expect(faults).toEqual([
      'The file of API keys was not taken: keys[0].hash is not sha256: and 64 lower-case hexadecimal digits.',
    ]);
  });
});
