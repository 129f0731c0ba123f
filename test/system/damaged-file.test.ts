import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { StoreError } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { Random } from '../simulation/random.ts';
import { repeatLine, seedOf, stride } from '../support/effort.ts';
import { Filler } from './disk-full-filler.ts';
import { commitFaults, same } from './kill-loop-audit.ts';
import { codeOf } from './kill-loop-commits.ts';
import { LoopServer, type Reply, tenantPath } from './kill-loop-server.ts';

const FILE = 'svc.canonical.sqlite';
const PAGE = 4096;
/** Bytes of the header of the database. They describe the file and are read at once, so their bits are tried in their order. */
const HEADER = 100;
const TENANT = 't';
/** Damages of each kind. */
const TIMES = Number(process.env['DAMAGED_FILES'] ?? (process.env['CI'] === undefined ? 2 : 6));
const SEED = seedOf('damaged file');

let folder = '';
let copies = 0;
/** The tenant when the server had been stopped, and the log of its commits until it was killed, some later. */
let stopped: TenantSnapshot;
let killed: Filler;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-damaged-'));
  const random = new Random(SEED);
  const source = join(folder, 'source');
  const server = new LoopServer({ folder: source });
  await server.start();
  killed = new Filler(server, TENANT);
  for (let n = 0; n < 60; n++) await killed.commit(random.pick([10, 500, 3_000, 20_000]));
  stopped = await killed.export();
  await server.stop();
  cpSync(source, join(folder, 'stopped'), { recursive: true });
  await server.start();
  for (let n = 0; n < 10; n++) await killed.commit(500);
  await server.kill();
  cpSync(source, join(folder, 'killed'), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A server over a copy of the folder that `damage` was done to. */
function over(from: 'stopped' | 'killed', damage: (file: string) => void): LoopServer {
  const copy = join(folder, `copy-${copies++}`);
  cpSync(join(folder, from), copy, { recursive: true });
  damage(join(copy, FILE));
  return new LoopServer({ folder: copy });
}

function edit(file: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(file);
  change(bytes);
  writeFileSync(file, bytes);
}

function flip(random: Random, bytes: Buffer, from = 0): void {
  flipBit(bytes, from + random.below(bytes.length - from), random.below(8));
}

function flipBit(bytes: Buffer, at: number, bit: number): void {
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
}

/** Reads everything: each answer beside the true one. */
async function readAll(server: LoopServer): Promise<{ truth: unknown; reply: Reply | undefined }[]> {
  const post = (path: string, body: object) => server.ask('POST', tenantPath(TENANT, path), body);
  const answers: { truth: unknown; reply: Reply | undefined }[] = [];
  for (const document of stopped.documents) {
    const name = { documentType: document.documentType, id: document.id };
    const revisions = stopped.revisions.filter(({ id }) => id === document.id).reverse();
    answers.push({ truth: document, reply: await post('/documents/read', name) });
    answers.push({ truth: revisions, reply: await post('/documents/revisions', { ...name, limit: 1_000 }) });
  }
  const all = { items: stopped.documents, continuationToken: null };
  answers.push({ truth: all, reply: await post('/documents/query', { documentType: 'doc' }) });
  return answers;
}

/** Whether it is an honest refusal; throws for an answer that is none. */
function isRefused(reply: Reply | undefined): boolean {
  if (reply?.status === 200) return false;
  expect([reply?.status, reply === undefined ? '' : codeOf(reply)]).toEqual([500, 'internal_error']);
  return true;
}

describe('a damaged database file', () => {
  const times = Array.from({ length: TIMES }, (_, n) => n + 1);
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(repeatLine)));

  it.each(times)('that is cut off is refused at the start, and why (%i)', async (n) => {
    const random = new Random(SEED + n);
    const size = statSync(join(folder, 'stopped', FILE)).size;
    await using server = over('stopped', (file) => truncateSync(file, 1 + random.below(size - 1)));
    const { code, stderr } = await server.refusedStart();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The database \S+ cannot be opened: (SQLite: .*(malformed|not a database)|the file is cut off: .*)\n$/,
    );
  });

  it('that is cut off within its last page is refused at the start, and why', async () => {
    const size = statSync(join(folder, 'stopped', FILE)).size;
    await using server = over('stopped', (file) => truncateSync(file, size - 1));
    const { code, stderr } = await server.refusedStart();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      / cannot be opened: the file is cut off: \d+ bytes are no multiple of its pages of 4096\n$/,
    );
  });

  it('that ends within a page, as while its log was copied, loses nothing', async () => {
    await using server = over('killed', (file) => truncateSync(file, statSync(file).size + 1));
    await server.start();
    const reply = await server.ask('GET', tenantPath(TENANT, '/export'));
    expect(commitFaults(killed.log, reply?.body as TenantSnapshot, killed.log.step)).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  it.each(times)('with an empty page gives the truth or an error (%i)', async (n) => {
    const random = new Random(SEED + n);
    const pages = statSync(join(folder, 'stopped', FILE)).size / PAGE;
    // Not the first, without which it is no database; that is refused as above.
    const at = PAGE * (1 + random.below(pages - 1));
    await using server = over('stopped', (file) => edit(file, (bytes) => bytes.fill(0, at, at + PAGE)));
    try {
      await server.start();
    } catch (error) {
      // The start itself reads some pages, such as those of the table of versions or of a search index.
      expect(String(error)).toMatch(/ cannot be opened: SQLite: .*malformed\n?$/);
      return;
    }
    for (const { truth, reply } of await readAll(server)) {
      if (!isRefused(reply)) expect(same(reply?.body, truth), JSON.stringify(reply?.body)).toBe(true);
    }
    const exported = await server.ask('GET', tenantPath(TENANT, '/export'));
    if (!isRefused(exported)) {
      expect(exported?.body).toMatchObject({ contentHash: stopped.contentHash });
    }
    expect(await server.stop()).toBe(0);
  });

  it('with one flipped bit in its header is refused, or holds the truth', async () => {
    const [source, file] = [join(folder, 'stopped', FILE), join(folder, 'header.sqlite')];
    const ends = { whole: 0, refused: 0 };
    for (let bit = 0; bit < HEADER * 8; bit += stride(HEADER * 8, 200)) {
      const bytes = readFileSync(source);
      flipBit(bytes, bit >> 3, bit % 8);
      for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
      writeFileSync(file, bytes);
      try {
        const store = await openSqliteStore({ path: file, ...machine, collections });
        try {
          const { contentHash } = await exportTenant(store, TENANT, { now: machine.clock.now() });
          expect(contentHash, `bit ${bit}`).toBe(stopped.contentHash);
        } finally {
          await store.close();
        }
        ends.whole += 1;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        ends.refused += 1;
      }
    }
    expect(Math.min(ends.whole, ends.refused)).toBeGreaterThan(0);
  });

  it.each(times)('with one flipped bit behind its header ends no process (%i)', async (n) => {
    const random = new Random(SEED + n);
    await using server = over('stopped', (file) => edit(file, (bytes) => flip(random, bytes, HEADER)));
    try {
      await server.start();
    } catch (error) {
      expect(String(error)).toContain('cannot be opened: ');
      return;
    }
    // SQLite keeps no sums of its pages: a changed bit within a text cannot be detected. Every page that is reported is
    // reported whole.
    for (const { reply } of await readAll(server)) if (reply?.status !== 404) isRefused(reply);
    isRefused(await server.ask('GET', tenantPath(TENANT, '/export')));
    expect(await server.stop()).toBe(0);
  });

  it.each(times)('whose log is damaged is a whole past (%i)', async (n) => {
    const random = new Random(SEED + n);
    const cut = (log: string) => truncateSync(log, random.below(statSync(log).size));
    await using server = over('killed', (file) => {
      if (random.chance(0.5)) cut(`${file}-wal`);
      else edit(`${file}-wal`, (bytes) => flip(random, bytes));
    });
    await server.start();
    const reply = await server.ask('GET', tenantPath(TENANT, '/export'));
    const found = reply?.body as TenantSnapshot;
    const kept = new Set(found.transactions.map(({ idempotencyKey }) => idempotencyKey));
    const sent = [...killed.log.attempts.keys()];
    // All commits after some moment are gone, and none before it.
    expect(sent.filter((key) => kept.has(key))).toEqual(sent.slice(0, kept.size));
    expect(kept.size).toBeGreaterThanOrEqual(stopped.transactions.length);
    const faults = commitFaults(killed.log, found, killed.log.step);
    expect(faults.filter((fault) => !fault.startsWith('the acknowledged commit'))).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  it('without the file that processes share loses nothing', async () => {
    await using server = over('killed', (file) => rmSync(`${file}-shm`));
    await server.start();
    const reply = await server.ask('GET', tenantPath(TENANT, '/export'));
    expect(commitFaults(killed.log, reply?.body as TenantSnapshot, killed.log.step)).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  it('whose tables cannot be read is not ready', async () => {
    // The page behind the schema is where the list of tenants begins.
    await using server = over('stopped', (file) => edit(file, (bytes) => bytes.fill(0, PAGE, 2 * PAGE)));
    await server.start();
    const readiness = await server.ask('GET', '/readiness');
    expect(readiness?.body).toMatchObject({ ready: false });
    const commit = await server.ask('POST', tenantPath(TENANT, '/transactions'), {
      idempotencyKey: 'new',
      outbox: [{ topic: 't', key: 'k' }],
    });
    expect(isRefused(commit)).toBe(true);
    expect(await server.stop()).toBe(0);
  });
});
