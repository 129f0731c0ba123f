import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type BlobAttributes,
  BlobError,
  type BlobFailure,
  type BlobStore,
} from '../../functions/blobs/port.ts';
import { objectBytesMax } from '../../functions/blobs/rules.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';

export interface OpenedBlobs {
  readonly store: BlobStore;
  /** Another instance over the same objects. */
  readonly again: () => Promise<BlobStore>;
  /** Changes one byte in the middle of the object stored under the key. */
  readonly damage: (key: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const randomPrefix = (): string => `blobs-${randomBytes(8).toString('hex')}/`;

export function attributesOf(bytes: Uint8Array, more: Partial<BlobAttributes> = {}): BlobAttributes {
  return { contentType: 'application/json', sha256: sha256(bytes), metadata: { run: 'r-1' }, ...more };
}

export function failing(failure: BlobFailure): BlobError {
  return expect.objectContaining({ name: 'BlobError', failure }) as BlobError;
}

export async function listAll(store: BlobStore, prefix: string, limit: number, from = ''): Promise<string[]> {
  const keys: string[] = [];
  let after: string | null = from;
  while (after !== null) {
    const page: Awaited<ReturnType<BlobStore['list']>> = await store.list(prefix, {
      limit,
      ...(after === '' ? {} : { after }),
    });
    expect(page.keys.length).toBeLessThanOrEqual(limit);
    keys.push(...page.keys);
    after = page.next;
  }
  return keys;
}

/** Everything that the doc comments of `BlobStore` promise, asked of one provider. Each test has its own prefix. */
export function describeBlobStore(name: string, open: () => Promise<OpenedBlobs>): void {
  describe(`BlobStore: ${name}`, () => {
    let opened: OpenedBlobs;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    describeObjects(() => opened);
    describePrefixes(() => opened);
    describeRules(() => opened);
    describeLife(open);
  });
}

function describeObjects(suite: () => OpenedBlobs): void {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['line ends and boundaries', Buffer.from('\r\n--x\r\n\n{"format":1}\n\r\n--x--')],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['three megabytes', randomBytes(3 * 1024 * 1024 + 1)],
  ])('returns the stored bytes: %s', async (_, bytes) => {
    const { store, again } = suite();
    const key = `${randomPrefix()}a/b.json`;
    const attributes = attributesOf(bytes, {
      contentType: 'text/plain; charset=utf-8',
      metadata: { run: '00822868566016000115', note: 'zażółć "\\\n€😀', empty: '' },
    });
    expect(await store.get(key, bytes.length)).toBeNull();
    await store.put(key, bytes, attributes);
    for (const reader of [store, await again()]) {
      const stored = await reader.get(key, bytes.length);
      expect(Buffer.from(stored?.bytes ?? []).equals(bytes)).toBe(true);
      expect({ ...stored, bytes: null }).toEqual({ ...attributes, bytes: null });
    }
  });

  test('an object is never changed: the same content may be put again, another may not', async () => {
    const { store } = suite();
    const key = `${randomPrefix()}one.json`;
    const [bytes, other] = [Buffer.from('content'), Buffer.from('CONTENT')];
    await store.put(key, bytes, attributesOf(bytes));
    await store.put(
      key,
      bytes,
      attributesOf(bytes, { metadata: { later: 'yes' }, contentType: 'text/plain' }),
    );
    await expect(store.put(key, other, attributesOf(other))).rejects.toEqual(failing('conflict'));
    expect(await store.get(key, 100)).toEqual({ bytes: expect.anything(), ...attributesOf(bytes) });
    expect(Buffer.from((await store.get(key, 100))?.bytes ?? [])).toEqual(bytes);
  });

  test('of rivals with contents of their own one wins, and every reader sees it whole', async () => {
    const { store, again } = suite();
    const instances = [store, await again(), await again()];
    for (let round = 0; round < 8; round++) {
      const key = `${randomPrefix()}rivals.json`;
      const contents = Array.from({ length: 6 }, (_, at) => Buffer.alloc(70_000 + at, `${at}`));
      const outcomes = await Promise.all(
        contents.map(async (bytes, at) => {
          const instance = instances[at % instances.length] ?? store;
          const failed = await instance.put(key, bytes, attributesOf(bytes)).then(
            () => null,
            (error: unknown) => error,
          );
          const seen = await store.get(key, 100_000);
          return { failed, seen: Buffer.from(seen?.bytes ?? []).toString() };
        }),
      );
      const won = outcomes.findIndex(({ failed }) => failed === null);
      expect(outcomes.filter(({ failed }) => failed === null)).toHaveLength(1);
      for (const { failed, seen } of outcomes) {
        expect(seen).toBe(contents[won]?.toString());
        if (failed !== null) expect(failed).toEqual(failing('conflict'));
      }
    }
  });

  test('rivals with one content all succeed', async () => {
    const { store, again } = suite();
    const instances = [store, await again()];
    const key = `${randomPrefix()}same.json`;
    const bytes = randomBytes(100_000);
    const put = (at: number) => (instances[at % 2] ?? store).put(key, bytes, attributesOf(bytes));
    await Promise.all(Array.from({ length: 8 }, (_, at) => put(at)));
    expect(Buffer.from((await store.get(key, 100_000))?.bytes ?? []).equals(bytes)).toBe(true);
  });

  test('a reader limits the bytes that it accepts', async () => {
    const { store } = suite();
    const key = `${randomPrefix()}large.json`;
    const bytes = Buffer.alloc(1000);
    await store.put(key, bytes, attributesOf(bytes));
    await expect(store.get(key, 999)).rejects.toEqual(failing('too_large'));
    expect((await store.get(key, 1000))?.bytes).toHaveLength(1000);
  });

  test('a read of a damaged object fails as corrupt', async () => {
    const { store, damage } = suite();
    const key = `${randomPrefix()}damaged.json`;
    const bytes = Buffer.alloc(100_000, 'x');
    await store.put(key, bytes, attributesOf(bytes));
    await damage(key);
    await expect(store.get(key, 100_000)).rejects.toEqual(failing('corrupt'));
  });

  test('a removed object stays removed', async () => {
    const { store } = suite();
    const prefix = randomPrefix();
    const bytes = Buffer.from('x');
    for (const name of ['a', 'b']) await store.put(`${prefix}${name}.json`, bytes, attributesOf(bytes));
    await store.remove(`${prefix}a.json`);
    await store.remove(`${prefix}a.json`);
    await store.remove(`${randomPrefix()}never/there.json`);
    expect(await store.get(`${prefix}a.json`, 10)).toBeNull();
    expect(await listAll(store, prefix, 10)).toEqual([`${prefix}b.json`]);
    const other = Buffer.from('another');
    await store.put(`${prefix}a.json`, other, attributesOf(other));
    expect(Buffer.from((await store.get(`${prefix}a.json`, 10))?.bytes ?? [])).toEqual(other);
  });
}

function describePrefixes(suite: () => OpenedBlobs): void {
  const names = [
    'a/x.json',
    'a-b/x.json',
    'a.json',
    'a/b/y.txt',
    'a0/x.json',
    'b/1.json',
    'a/x.txt',
    'a/x-.json',
  ];

  async function filled(): Promise<string> {
    const prefix = randomPrefix();
    const bytes = Buffer.from('x');
    for (const name of names) await suite().store.put(`${prefix}${name}`, bytes, attributesOf(bytes));
    return prefix;
  }

  test.each([1, 2, 3, 7, 8, 1000])('a list has every key once, in order, in pages of %d', async (limit) => {
    const prefix = await filled();
    const expected = names.map((name) => `${prefix}${name}`).sort();
    const { store } = suite();
    expect(await listAll(store, prefix, limit)).toEqual(expected);
    expect(await listAll(store, `${prefix}a/`, limit)).toEqual(
      expected.filter((key) => key.startsWith(`${prefix}a/`)),
    );
    const everything = await listAll(store, '', 1000);
    expect(everything).toEqual(everything.toSorted());
    expect(everything).toEqual(expect.arrayContaining(expected));
  });

  test('a list continues at its position, also after the named object was removed', async () => {
    const prefix = await filled();
    const { store } = suite();
    const first = await store.list(prefix, { limit: 3 });
    for (const key of first.keys) await store.remove(key);
    const rest = await listAll(store, prefix, 1000, first.next ?? '');
    expect([...first.keys, ...rest]).toEqual(names.map((name) => `${prefix}${name}`).sort());
  });

  test('an unused prefix has no objects', async () => {
    const { store } = suite();
    expect(await store.list(randomPrefix(), { limit: 5 })).toEqual({ keys: [], next: null });
    expect(await store.removeAll(randomPrefix())).toBe(0);
  });

  test('all of a prefix is removed, and nothing beside it', async () => {
    const prefix = await filled();
    const { store } = suite();
    expect(await store.removeAll(`${prefix}a/`)).toBe(4);
    expect(await store.removeAll(`${prefix}a/`)).toBe(0);
    const left = ['a-b/x.json', 'a.json', 'a0/x.json', 'b/1.json'].map((name) => `${prefix}${name}`);
    expect(await listAll(store, prefix, 1000)).toEqual(left);
    const bytes = Buffer.from('again');
    await store.put(`${prefix}a/x.json`, bytes, attributesOf(bytes));
    expect(Buffer.from((await store.get(`${prefix}a/x.json`, 10))?.bytes ?? [])).toEqual(bytes);
  });

  test('puts beside a removal of their prefix leave whole objects or none', async () => {
    const { store, again } = suite();
    const other = await again();
    const prefix = randomPrefix();
    const bytes = Buffer.alloc(20_000, 'z');
    const puts = Array.from({ length: 24 }, async (_, at) => {
      await (at % 2 === 0 ? store : other).put(`${prefix}p${at}.json`, bytes, attributesOf(bytes));
      if (at % 4 === 0) await other.removeAll(prefix);
    });
    await Promise.all(puts);
    for (const key of await listAll(store, prefix, 5)) {
      expect(Buffer.from((await store.get(key, 20_000))?.bytes ?? []).equals(bytes)).toBe(true);
    }
    await store.removeAll(prefix);
    expect(await listAll(store, prefix, 5)).toEqual([]);
  });
}

function describeRules(suite: () => OpenedBlobs): void {
  const bytes = Buffer.from('x');
  const bad = [
    '',
    'a',
    'a.json',
    '/a.json',
    'a/',
    'a//b.json',
    'a/../b.json',
    '../a.json',
    'a/.json',
    '.incoming/a.json',
  ];

  test.each([
    ...bad,
    'A/b.json',
    'a/b',
    'a/b.json/c.json',
    'a/b.json\n',
    'a/é.json',
    'a/b.json?x',
    `a/${'x'.repeat(81)}.json`,
  ])('%j is not a key', async (key) => {
    const { store } = suite();
    await expect(store.put(key, bytes, attributesOf(bytes))).rejects.toThrow('not a key');
    await expect(store.get(key, 1)).rejects.toThrow('not a key');
    await expect(store.remove(key)).rejects.toThrow('not a key');
    expect(() => store.uriOf(key)).toThrow('not a key');
  });

  test.each(['', 'a', '/', '../', './', '.incoming/', 'a//', 'A/', 'a/b.json'])(
    'nothing is removed under %j',
    async (prefix) => {
      const { store } = suite();
      await expect(store.removeAll(prefix)).rejects.toThrow('not a prefix');
      if (prefix !== '') await expect(store.list(prefix, { limit: 1 })).rejects.toThrow('not a prefix');
    },
  );

  test.each([0, 1001, 1.5])('a page of %d is none', async (limit) => {
    await expect(suite().store.list('', { limit })).rejects.toThrow(RangeError);
  });

  test('an invalid put is refused before anything is written', async () => {
    const { store } = suite();
    const key = `${randomPrefix()}refused.json`;
    const refused: Partial<BlobAttributes>[] = [
      { sha256: sha256('y') },
      { contentType: 'text/html\r\nx: y' },
      { contentType: '' },
      { metadata: { 'svc-sha256': 'mine' } },
      { metadata: { 'a b': '' } },
      { metadata: { a: 'x'.repeat(4096) } },
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`m${at}`, ''])) },
    ];
    for (const more of refused) {
      await expect(store.put(key, bytes, attributesOf(bytes, more))).rejects.toThrow(TypeError);
    }
    const huge = new Uint8Array(objectBytesMax + 1);
    await expect(store.put(key, huge, attributesOf(bytes))).rejects.toEqual(failing('too_large'));
    expect(await store.get(key, 10)).toBeNull();
  });

  test('the URI of an object names it and no machine', () => {
    expect(suite().store.uriOf('artifacts/1/2.json')).toMatch(
      /^svc-object:\/\/[a-z0-9-]+\/artifacts\/1\/2\.json$/,
    );
  });
}

function describeLife(open: () => Promise<OpenedBlobs>): void {
  test('closing waits for calls under way and refuses later ones', async () => {
    const opened = await open();
    const { store } = opened;
    await store.ping();
    const bytes = randomBytes(500_000);
    const key = `${randomPrefix()}last.json`;
    const putting = store.put(key, bytes, attributesOf(bytes));
    await Promise.all([store.close(), store.close()]);
    const next = await opened.again();
    expect((await next.get(key, 500_000))?.bytes).toHaveLength(500_000);
    await putting;
    await expect(store.get(key, 500_000)).rejects.toEqual(failing('unavailable'));
    await expect(store.ping()).rejects.toBeInstanceOf(BlobError);
    await opened.close();
  });
}
