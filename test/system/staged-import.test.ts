import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { abandonImport, cleanUpSource } from '../../examples/import/cleanup.ts';
import { type ImportOutcome, importSource } from '../../examples/import/importer.ts';
import { readSource, resolveManifest } from '../../examples/import/reader.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { type RunningService, startService } from '../support/service.ts';
import { Program, root } from './program.ts';
import { expectPublished, ImportTenant, type Meddle, sourceOf } from './staged-import-tenant.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const newly: ImportOutcome = { status: 'published', before: false };
const already: ImportOutcome = { status: 'published', before: true };

test('the example keeps its promises over 10,000 documents', async () => {
  await using example = new Program(['examples/import/run.ts'], { cwd: root });
  const exit = await example.exit;
  expect(exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expect(example.stdout).toContain('Every promise was kept: 10000 documents twice');
  expect(example.stdout).toMatch(/A reader looked [1-9]\d* times and saw nothing, [1-9]\d* times the first/);
});

interface Database {
  readonly settings: Readonly<Record<string, string>>;
  readonly drop?: () => Promise<void>;
}

function chosen(provider: string, settings: Database['settings']): Database {
  return { settings: { 'CanonicalStore:Provider': provider, ...settings } };
}

describe('the whole life of a source', () => {
  const databases: [string, string | undefined, () => Promise<Database>][] = [
    ['sqlite', undefined, async () => chosen('sqlite', {})],
    [
      'postgresql',
      postgresMissing,
      async () => chosen('postgresql', { 'CanonicalStore:ConnectionString': postgresUrl() }),
    ],
    [
      'mysql',
      mysqlMissing,
      async () => {
        const database = await createMysqlDatabase();
        const settings = { 'CanonicalStore:ConnectionString': database.connectionString };
        return { ...chosen('mysql', settings), drop: () => database.drop() };
      },
    ],
    [
      'firestore',
      firestoreMissing,
      async () =>
        chosen('firestore', {
          'Firestore:ProjectId': firestoreProject(),
          'Firestore:EmulatorHost': firestoreHost(),
        }),
    ],
  ];
  for (const [name, missing, open] of databases) {
    test.skipIf(missing !== undefined)(`on ${name} ${missing ?? ''}`, async () => {
      const { settings, drop } = await open();
      const running = await startService({ settings });
      await liveThrough(new ImportTenant(running));
      await running.close();
      await drop?.();
    });
  }

  async function liveThrough(tenant: ImportTenant): Promise<void> {
    const client = tenant.client();
    const first = sourceOf('v1', 1, 210);
    expect(await importSource(client, first)).toEqual(newly);
    await expectPublished(tenant, first);
    expect(await importSource(client, first)).toEqual(already);
    const rival = await importSource(client, sourceOf('v1-rival', 1, 110));
    expect(rival).toEqual({ status: 'refused', reason: 'version-taken' });
    expect(await abandonImport(client, 'v1-rival')).toBe('abandoned');
    const second = sourceOf('v2', 2, 120);
    expect(await importSource(client, second)).toEqual(newly);
    await expectPublished(tenant, second);
    expect(await importSource(client, first)).toEqual(already);
    expect((await tenant.record('v1')).data).toMatchObject({ state: 'superseded', removed: false });
    expect(await cleanUpSource(client, 'parts')).toBe(110 + 210);
    expect(await cleanUpSource(client, 'parts')).toBe(0);
    expect((await tenant.record('v1')).data).toMatchObject({ state: 'superseded', removed: true });
    expect([await tenant.staged('v1'), await tenant.staged('v1-rival')]).toEqual([[], []]);
    await expectPublished(tenant, second);
    expect(await tenant.published()).toHaveLength(2);
  }
});

describe('an importer that ends', () => {
  const SIZE = 250;
  class Ended extends Error {}

  /** Ends a process at its call of that number, as far as a process can be ended from inside: nothing goes out after. */
  function endingAt(call: number, deliver: 'never' | 'unheard' | 'late') {
    const controller = new AbortController();
    let calls = 0;
    let late: (() => Promise<unknown>) | undefined;
    const meddle: Meddle = async (_, send) => {
      if (controller.signal.aborted) throw new Ended();
      calls += 1;
      if (calls !== call) return send();
      if (deliver === 'unheard') await send();
      if (deliver === 'late') late = send;
      controller.abort(new Ended());
      throw new Ended();
    };
    return { signal: controller.signal, meddle, calls: () => calls, late: async () => late?.() };
  }

  test('needs ten calls at most for this size', async () => {
    const ending = endingAt(Number.POSITIVE_INFINITY, 'never');
    const tenant = new ImportTenant(service);
    expect(await importSource(tenant.client(ending), sourceOf('one', 1, SIZE))).toEqual(newly);
    expect(ending.calls()).toBe(10);
    await expectPublished(tenant, sourceOf('one', 1, SIZE));
  });

  const calls = Array.from({ length: 10 }, (_, n) => n + 1);
  const deliveries = [
    ['that is lost', 'never'],
    ['whose answer is lost', 'unheard'],
    ['that arrives when another has finished', 'late'],
  ] as const;
  for (const [what, deliver] of deliveries) {
    test.each(calls)(`at call %i, ${what}, is resumed by another`, async (call) => {
      const tenant = new ImportTenant(service);
      const source = sourceOf('one', 1, SIZE);
      const ending = endingAt(call, deliver);
      await expect(importSource(tenant.client(ending), source)).rejects.toThrow(Ended);
      const published = call === 10 && deliver === 'unheard';
      expect((await readSource(tenant.client(), 'parts')) !== null).toBe(published);
      expect(await importSource(tenant.client(), source)).toEqual(published ? already : newly);
      await ending.late();
      await expectPublished(tenant, source);
      expect(await importSource(tenant.client(), source)).toEqual(already);
      expect(await tenant.published()).toHaveLength(1);
    });
  }
});

describe('importers at the same time', () => {
  test('of one import have the result of one importer', async () => {
    const tenant = new ImportTenant(service);
    const source = sourceOf('one', 1, 250);
    const outcomes = await Promise.all([1, 2, 3].map(() => importSource(tenant.client(), source)));
    expect(outcomes.filter(({ status }) => status === 'published')).toHaveLength(3);
    await expectPublished(tenant, source);
    expect(await tenant.published()).toHaveLength(1);
  });

  test('of one version: one publishes, the others learn that it is taken', async () => {
    const tenant = new ImportTenant(service);
    const sources = ['a', 'b', 'c'].map((importId) => sourceOf(importId, 1, 120));
    const outcomes = await Promise.all(sources.map((source) => importSource(tenant.client(), source)));
    const refused: ImportOutcome = { status: 'refused', reason: 'version-taken' };
    const winner = outcomes.findIndex(({ status }) => status === 'published');
    expect(outcomes.filter((_, n) => n !== winner)).toEqual([refused, refused]);
    await expectPublished(tenant, sources[winner]!);
    expect(await tenant.published()).toHaveLength(1);
  });

  test('of two versions: readers see the later one in the end', async () => {
    for (let round = 0; round < 5; round++) {
      const tenant = new ImportTenant(service);
      const outcomes = await Promise.all(
        [1, 2].map((version) => importSource(tenant.client(), sourceOf(`v${version}`, version, 20))),
      );
      expect(outcomes[1]).toEqual(newly);
      const first = outcomes[0];
      if (first?.status === 'refused') expect(first.reason).toBe('outdated');
      expect(await resolveManifest(tenant.client(), 'parts')).toMatchObject({ importId: 'v2' });
      expect(await tenant.published()).toHaveLength(first?.status === 'published' ? 2 : 1);
    }
  });
});

describe('an importer that publishes while', () => {
  const whilePublishing = (importId: string, happen: () => Promise<unknown>): Meddle => {
    let happened = false;
    return async ({ body }, send) => {
      if (body.idempotencyKey === `${importId}:publish` && !happened) {
        happened = true;
        await happen();
      }
      return send();
    };
  };

  test('a later version is published: looks again, and is outdated', async () => {
    const tenant = new ImportTenant(service);
    await importSource(tenant.client(), sourceOf('v1', 1, 10));
    const meddle = whilePublishing('v2', () => importSource(tenant.client(), sourceOf('v3', 3, 10)));
    const outcome = await importSource(tenant.client({ meddle }), sourceOf('v2', 2, 10));
    expect(outcome).toEqual({ status: 'refused', reason: 'outdated' });
    await expectPublished(tenant, sourceOf('v3', 3, 10));
    expect((await tenant.record('v1')).data).toMatchObject({ state: 'superseded' });
    expect(await tenant.published()).toHaveLength(2);
  });

  test('an earlier version is published: looks again, and supersedes it', async () => {
    const tenant = new ImportTenant(service);
    const meddle = whilePublishing('v3', () => importSource(tenant.client(), sourceOf('v2', 2, 10)));
    expect(await importSource(tenant.client({ meddle }), sourceOf('v3', 3, 10))).toEqual(newly);
    await expectPublished(tenant, sourceOf('v3', 3, 10));
    expect((await tenant.record('v2')).data).toMatchObject({ state: 'superseded' });
    expect(await tenant.published()).toHaveLength(2);
  });

  test('its own version is published and superseded between two looks: has published, and is not outdated', async () => {
    const tenant = new ImportTenant(service);
    const source = sourceOf('v1', 1, 10);
    let counted = false;
    let happened = false;
    const meddle: Meddle = async ({ path }, send) => {
      counted ||= path.endsWith('/documents/query');
      const answer = await send();
      if (counted && !happened && path.endsWith('/documents/read')) {
        happened = true;
        await importSource(tenant.client(), source);
        await importSource(tenant.client(), sourceOf('v2', 2, 10));
      }
      return answer;
    };
    expect(await importSource(tenant.client({ meddle }), source)).toEqual(already);
    expect(await tenant.published()).toHaveLength(2);
  });

  test('its own version is published by another process: has published, once', async () => {
    const tenant = new ImportTenant(service);
    const source = sourceOf('v1', 1, 10);
    const meddle = whilePublishing('v1', () => importSource(tenant.client(), source));
    expect(await importSource(tenant.client({ meddle }), source)).toEqual(already);
    await expectPublished(tenant, source);
    expect(await tenant.published()).toHaveLength(1);
  });
});

describe('the service refuses', () => {
  test('a version that was published once, even when a later one has been since and was withdrawn', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await importSource(client, sourceOf('v1', 1, 10));
    await importSource(client, sourceOf('v2', 2, 10));
    const again = sourceOf('v1-again', 1, 10);
    expect(await importSource(client, again)).toEqual({ status: 'refused', reason: 'outdated' });
    const { documentType, id } = await tenant.manifest('parts');
    await client.commit({
      idempotencyKey: 'wipe',
      mutations: [{ operation: 'delete', documentType, id }],
    });
    expect(await importSource(client, again)).toEqual({ status: 'refused', reason: 'version-taken' });
    expect(await importSource(client, sourceOf('v3', 3, 10))).toEqual(newly);
  });

  test('an import that was abandoned, also while it is at work', async () => {
    const tenant = new ImportTenant(service);
    const source = sourceOf('one', 1, 250);
    const meddle: Meddle = async ({ body }, send) => {
      if (body.idempotencyKey === 'one:publish') await abandonImport(tenant.client(), 'one');
      return send();
    };
    const abandoned: ImportOutcome = { status: 'refused', reason: 'abandoned' };
    expect(await importSource(tenant.client({ meddle }), source)).toEqual(abandoned);
    expect(await importSource(tenant.client(), source)).toEqual(abandoned);
    expect(await tenant.published()).toEqual([]);
    expect(await readSource(tenant.client(), 'parts')).toBeNull();
  });

  const sizes = [99, 201];
  test.each(sizes)('a source that promises 200 items and gives %i', async (count) => {
    const tenant = new ImportTenant(service);
    const source = { ...sourceOf('one', 1, count), expectedCount: 200 };
    await expect(importSource(tenant.client(), source)).rejects.toThrow(
      `promised 200 items and gave ${count}`,
    );
    expect(await tenant.published()).toEqual([]);
  });

  test('a source that gives an item twice, in one chunk or in two', async () => {
    for (const [n, message] of [
      [1, 'holds an item that the source holds twice'],
      [150, 'holds an item that the source holds twice'],
    ] as const) {
      const tenant = new ImportTenant(service);
      const twice = sourceOf('one', 1, 200, (item, at) => (at === n ? { ...item, id: 'p-0' } : item));
      await expect(importSource(tenant.client(), twice)).rejects.toThrow(message);
      expect(await tenant.published()).toEqual([]);
    }
  });

  test('an import that continues with another source than it started with', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await expect(importSource(client, { ...sourceOf('one', 1, 250), expectedCount: 300 })).rejects.toThrow();
    await expect(importSource(client, sourceOf('one', 1, 250))).rejects.toThrow('was begun with another');
    const other = sourceOf('one', 1, 300, (item) => ({ ...item, data: { other: true } }));
    await expect(importSource(client, other)).rejects.toThrow('was committed with other content');
    expect(await tenant.published()).toEqual([]);
  });

  test('an import of which a staged document was deleted behind its back', async () => {
    const tenant = new ImportTenant(service);
    const meddle: Meddle = async ({ path }, send) => {
      if (path.endsWith('/documents/query')) {
        const mutations = [{ operation: 'delete', documentType: 'part', id: 'one:p-7' } as const];
        await tenant.client().commit({ idempotencyKey: 'stray', mutations });
      }
      return send();
    };
    const source = sourceOf('one', 1, 250);
    await expect(importSource(tenant.client({ meddle }), source)).rejects.toThrow(
      '249 of 250 documents of one are in the store',
    );
    expect(await tenant.published()).toEqual([]);
  });
});
