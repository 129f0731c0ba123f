import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import type { ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { TenantClient } from '../support/canonical.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { hashIn, jsonOf, onSample, type ToolBench, withDatabase } from '../support/operator-tool.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';

/** Tenants that move between databases, by the operator tool. */

interface Opened {
  readonly options: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How much of ours is in it; absent where nothing has to be made. */
  readonly tables?: () => Promise<number>;
  readonly close?: () => Promise<void>;
}

interface Stop {
  readonly provider: string;
  readonly missing: string | undefined;
  /** The options that name it, in the ways that operators have. */
  readonly open: (bench: ToolBench) => Promise<Opened>;
}

const stops: Stop[] = [
  {
    provider: 'postgresql',
    missing: postgresMissing,
    open: async ({ at }) => {
      const name = `test_${randomUUID().replaceAll('-', '')}`;
      await onPostgres(postgresUrl(), `CREATE DATABASE ${name}`);
      const url = postgresUrl().replace('/postgres?', `/${name}?`);
      await writeFile(at('db.url'), `${url}\n`, { mode: 0o600 });
      return {
        options: ['--provider', 'postgresql', '--connection-string-file', 'db.url'],
        tables: () =>
          onPostgres(url, `SELECT nspname FROM pg_namespace WHERE nspname = 'svc'`).then(
            ({ length }) => length,
          ),
        close: async () => void (await onPostgres(postgresUrl(), `DROP DATABASE ${name} WITH (FORCE)`)),
      };
    },
  },
  {
    provider: 'mysql',
    missing: mysqlMissing,
    open: async () => {
      const database = await createMysqlDatabase();
      const env = { CanonicalStore__ConnectionString: database.connectionString };
      return {
        options: ['--provider', 'mysql'],
        env,
        tables: async () => {
          const session = await database.connect();
          const [rows] = await session.query('SHOW TABLES');
          await session.end();
          return (rows as unknown[]).length;
        },
        close: () => database.drop(),
      };
    },
  },
  {
    provider: 'firestore',
    missing: firestoreMissing,
    open: async () => {
      // As for all tests: no library asks whether this machine is one of the cloud's.
      const env = { METADATA_SERVER_DETECTION: 'none' };
      return { options: ['--project', firestoreProject(), '--emulator-host', firestoreHost()], env };
    },
  },
];

async function onPostgres(url: string, sql: string): Promise<unknown[]> {
  const session = new Client({ connectionString: url });
  await session.connect();
  const { rows } = await session.query(sql);
  await session.end();
  return rows;
}

/** A read or a dry run finds no database and creates none. */
async function leavesAlone(
  { options, env = {}, tables }: Opened,
  { at, svc }: ToolBench,
  tenant: readonly string[],
): Promise<void> {
  if (tables === undefined) return;
  await writeFile(at('migrations.json'), '[{"namespace":"a","id":"b","checksum":"c"}]');
  for (const args of [
    ['canonical-export', '--file', '-', ...tenant],
    ['canonical-archive-export', '--directory', 'none', ...tenant],
    ['canonical-archive-restore', '--directory', 'a', '--dry-run', ...tenant],
    ['canonical-archive-restore', '--directory', 'a', '--yes', ...tenant],
    ['canonical-migrate', '--file', 'migrations.json'],
    ['canonical-sweep'],
  ]) {
    const ended = await svc([...args, ...options], { env });
    expect([args, ended.code, ended.stdout]).toEqual([args, 3, '']);
    expect(ended.stderr).toMatch(
      /: is not a database of the canonical store; .* makes it one with --create\n$/,
    );
  }
  const planned = ['canonical-archive-restore', '--directory', 'a', '--dry-run', '--create', ...tenant];
  expect(jsonOf(await svc([...planned, ...options], { env }))).toMatchObject({
    current: { counts: { commits: 0, documents: 0, events: 0, fences: 0 } },
    sameContent: false,
  });
  expect(existsSync(at('none'))).toBe(false);
  expect(await tables()).toBe(0);
}

/** Revisions, a tombstone, a fence, and events in several states. */
async function fill(store: RecordStore, tenantId: string): Promise<void> {
  const client = new TenantClient(store, tenantId);
  const event = { topic: 'claims', key: 'a' };
  const owner = { ownerDocumentType: 'claim', ownerDocumentId: 'a' };
  await client.commit({
    idempotencyKey: 'first',
    mutations: [client.upsert('a', { text: 'π <&> "\\' }, { indexes: { title: 'α' } }), client.upsert('b')],
    fences: [{ operation: 'claim', name: 'number', value: '1', ...owner }],
    outbox: [{ ...event, id: 'delivered', payload: { n: 1 } }, { ...event, id: 'leased' }, event],
  });
  await client.commit({ mutations: [client.upsert('a', { n: 2 }), client.remove('b')] });
  for (const { event: leased, leaseToken } of await client.lease({ maxItems: 2 })) {
    if (leased.id === 'delivered') await client.ack(leased.id, leaseToken);
  }
}

const sqlite = (file: string) => ['--canonical-db', file];

describe.each(stops)('$provider', ({ missing, open }) => {
  test.skipIf(missing !== undefined)(`a tenant goes there and comes back the same ${missing ?? ''}`, () =>
    onSample(async (bench) => {
      const { at, svc } = bench;
      const tenantId = `tenant-${randomUUID()}`;
      const tenant = ['--tenant', tenantId, '--output', 'json'];
      const [home, back] = [at('svc.canonical.sqlite'), at('back.sqlite')];
      await withDatabase(home, (store) => fill(store, tenantId));
      const contentHash = await hashIn(home, tenantId);
      const counts = { commits: 2, documents: 2, events: 3, fences: 1 };
      const opened = await open(bench);
      const { options, env = {}, close } = opened;
      try {
        const there = (args: readonly string[]) => svc([...args, ...options, ...tenant], { env });
        const archive = jsonOf<ArchiveManifest>(
          await svc(['canonical-archive-export', ...sqlite(home), ...tenant, '--directory', 'a']),
        );
        expect(archive).toMatchObject({ counts, snapshotContentHash: contentHash });

        await leavesAlone(opened, bench, tenant);
        const restored = await there(['canonical-archive-restore', '--directory', 'a', '--yes', '--create']);
        expect([restored.code, restored.stderr]).toEqual([0, '']);
        const plan = await there(['canonical-archive-restore', '--directory', 'a', '--dry-run']);
        expect(jsonOf(plan)).toMatchObject({ current: { counts, contentHash }, sameContent: true });

        // The archive made there is the same to the last byte, and so is the content of a snapshot.
        const again = await there(['canonical-archive-export', '--directory', 'b']);
        expect(jsonOf(again)).toMatchObject({ counts, contentHash: archive.contentHash });
        const exported = await there(['canonical-export', '--file', 'a.json']);
        expect(jsonOf(exported)).toMatchObject({ counts, contentHash });

        const returned = [
          'canonical-restore',
          ...sqlite(back),
          '--create',
          '--yes',
          '--file',
          'a.json',
          ...tenant,
        ];
        expect(await svc(returned)).toMatchObject({ code: 0, stderr: '' });
        expect(await hashIn(back, tenantId)).toBe(contentHash);

        // A snapshot replaces the present content, too.
        const snapshot = await svc([
          'canonical-export',
          ...sqlite(home),
          '--tenant',
          tenantId,
          '--file',
          '-',
        ]);
        const over = ['canonical-restore', ...options, ...tenant, '--file', '-', '--yes'];
        expect(await svc(over, { env, input: snapshot.stdout })).toMatchObject({ code: 0, stderr: '' });
      } finally {
        await close?.();
      }
    }),
  );
});
