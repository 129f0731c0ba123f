import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type {
  CanonicalOutboxLeaseList,
  CanonicalOutboxQueryResult,
} from '../../contracts/generated/models.ts';
import { Random } from '../simulation/random.ts';
import { repeatLine, seedOf, share } from '../support/effort.ts';
import { SmallDisk, smallDiskMissing } from './disk-full-disk.ts';
import { Filler, isFull, readiness } from './disk-full-filler.ts';
import { DISK_FLAWS, plantedFlaw } from './kill-loop-flaws.ts';
import { LoopServer } from './kill-loop-server.ts';

const DISK_BYTES = 4 * 1024 * 1024;
/** Times that the disk is filled at random moments and freed again. */
const CYCLES = Number(process.env['DISK_FULL_CYCLES'] ?? share(3, 12));
/** After this number of disks the flaw counts as not found. */
const FLAW_DISKS = 60;
const SEED = seedOf('full disk');

const FULL = { status: 503, code: 'storage_full', retryable: false, type: 'urn:svc:problem:storage_full' };

function serverOn(disk: SmallDisk, grouping = 'true', nodeArgs: readonly string[] = []): LoopServer {
  const within = (program: string, args: readonly string[]) => disk.command(program, args);
  // The disk fills, and not the share of one tenant.
  const settings = [`CanonicalStore:Grouping=${grouping}`, 'Quotas:DiskSharePercent=100'];
  return new LoopServer({ folder: disk.folder('data'), settings, nodeArgs, within });
}

/** Queries the database where it lies: SQLite takes no way through another process's root. */
function answerOf(disk: SmallDisk, sql: string): unknown {
  const script = `const { DatabaseSync } = require('node:sqlite');
    const rows = new DatabaseSync(process.argv[1], { timeout: 5000 }).prepare(process.argv[2]).all();
    process.stdout.write(JSON.stringify(rows));`;
  const file = join(disk.path, 'data/svc.canonical.sqlite');
  const { command, args } = disk.command(process.execPath, ['-e', script, file, sql]);
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const SOUND = [{ integrity_check: 'ok' }];
const integrity = (disk: SmallDisk) => answerOf(disk, 'PRAGMA integrity_check');

// In CI such a machine is a fault of the machine.
const skipped = smallDiskMissing !== undefined && process.env['CI'] === undefined;
const omitted = skipped ? `, left out: ${smallDiskMissing}` : '';

const NOT_READY = {
  ready: false,
  // A small probe of objects may still find room.
  blockers: expect.arrayContaining(
    ['The canonical store', 'The store of records', 'The store of traces'].map(
      (store) => `${store} has no room for new data. It answers reads.`,
    ),
  ) as string[],
};

/** Reads, queries and exports. */
async function expectReads(filler: Filler): Promise<void> {
  const name = { documentType: 'doc', id: 'd1' };
  expect((await filler.post('/documents/read', name))?.status).toBe(200);
  expect((await filler.post('/documents/revisions', name))?.status).toBe(200);
  expect((await filler.post('/documents/query', { documentType: 'doc' }))?.status).toBe(200);
  // No call asks for a second page before, so the secret of page tokens cannot be stored any more.
  const first = { limit: 10 };
  const page = (await filler.post('/outbox/query', first))?.body as CanonicalOutboxQueryResult;
  const { continuationToken } = page;
  const next = (await filler.post('/outbox/query', { ...first, continuationToken }))?.body;
  expect((next as CanonicalOutboxQueryResult).items[0]?.id).not.toBe(page.items[0]?.id);
  expect(await filler.faults()).toEqual([]);
}

/** Some events are leased, and acknowledged. */
async function expectDelivery(filler: Filler): Promise<void> {
  const wish = { consumerId: 'c', maxItems: 20, leaseSeconds: 600, waitSeconds: 1 };
  const leases = (await filler.post('/outbox/leases', wish))?.body as CanonicalOutboxLeaseList;
  expect(leases).toHaveLength(20);
  for (const { event, leaseToken, expiresAtUtc } of leases) {
    const call = filler.log.calling('ack', filler.log.leased(event, leaseToken, expiresAtUtc));
    const reply = await filler.post(`/outbox/${encodeURIComponent(event.id)}/ack`, { leaseToken });
    expect(reply?.status).toBe(204);
    call.outcome = 'accepted';
  }
}

/** Fills the disk at one random moment, and kills the server at another if that comes before the end. */
async function fillAtRandom(
  disk: SmallDisk,
  server: LoopServer,
  filler: Filler,
  random: Random,
): Promise<void> {
  disk.fill(random.below(DISK_BYTES / 2));
  const [othersFill, kill] = [random.below(100), random.below(100)];
  let killed: Promise<void> | undefined;
  await filler.fillTogether(random, 5, 4 + random.below(20), (count) => {
    if (count === othersFill) disk.fill();
    if (count === kill) killed = server.kill();
  });
  await killed;
  if (killed !== undefined) await server.start();
}

describe.skipIf(skipped)(`the embedded server on a full disk${omitted}`, () => {
  it('refuses new data clearly, does everything else, and goes on once there is room', async () => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    await using server = serverOn(disk);
    await server.start();
    const filler = new Filler(server, 'full');
    disk.fill(DISK_BYTES / 2);
    const refused = await filler.fill(3_000);
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({
      ...FULL,
      detail: 'The store has no room left; nothing was written.',
    });
    await expectReads(filler);
    expect(await readiness(server)).toMatchObject(NOT_READY);
    // A delivery stores no new data of callers, and the service may write its own records of it.
    await expectDelivery(filler);
    expect((await server.ask('POST', '/canonical/preflight/probe'))?.status).toBe(503);

    // Now other writers take the reserved room.
    disk.fill();
    expect((await filler.fill(3_000)).body).toMatchObject(FULL);
    await expectReads(filler);
    expect(await readiness(server)).toMatchObject(NOT_READY);
    expect(await filler.faults()).toEqual([]);

    disk.free();
    // The check of records keeps its answer for five seconds, that of objects for half a minute.
    await expect.poll(() => readiness(server), { interval: 250 }).toMatchObject({ ready: true });
    for (const attempt of filler.log.attempts.values()) {
      if (attempt.fate === 'refused')
        expect((await filler.send(attempt))?.body).toMatchObject({ replayed: false });
    }
    await expectDelivery(filler);
    expect(await filler.faults()).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it('gets its room back by itself where a tenant is emptied', async () => {
    // The reserved room is a share of the disk, and must carry the writes of one batch of the sweep.
    await using disk = await SmallDisk.mount(8 * DISK_BYTES);
    await using server = serverOn(disk);
    await server.start();
    const [large, other] = [new Filler(server, 'large'), new Filler(server, 'other')];
    const empty = await large.export();
    await other.commit(10);
    await large.fill(60_000);
    await other.fill(60_000);
    expect((await large.post('/restore', { snapshot: empty }))?.status).toBe(204);
    // Sweeping continues after ordinary calls.
    const roomAgain = async () => !isFull(await other.commit(3_000)) && (await readiness(server)).ready;
    await expect.poll(roomAgain).toBe(true);
    expect(await other.faults()).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it('loses nothing when it is killed there, and comes back', async () => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    await using server = serverOn(disk);
    await server.start();
    disk.fill(DISK_BYTES / 2);
    const filler = new Filler(server, 'killed');
    await filler.fill(3_000);
    let killed: Promise<void> | undefined;
    await filler.fillTogether(new Random(SEED), 4, 1_000, (count) => {
      if (count === 20) killed = server.kill();
    });
    await killed;

    await server.start();
    expect(await filler.faults()).toEqual([]);
    await filler.fill(60_000);
    disk.free();
    expect(isFull(await filler.commit(3_000))).toBe(false);
    expect(await filler.faults()).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it.each(['true', 'false'])('tears nothing, however often it fills up (Grouping=%s)', async (grouping) => {
    const random = new Random(SEED);
    await using disk = await SmallDisk.mount(DISK_BYTES);
    await using server = serverOn(disk, grouping);
    await server.start();
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const filler = new Filler(server, `cycle-${cycle}`);
      const empty = await filler.export();
      await fillAtRandom(disk, server, filler, random);
      expect(await filler.faults(), repeatLine).toEqual([]);
      disk.free();
      // Room for the next cycle.
      expect((await filler.post('/restore', { snapshot: empty }))?.status).toBe(204);
      expect(await filler.export()).toMatchObject({ contentHash: empty.contentHash, documents: [] });
      await expect.poll(async () => isFull(await filler.commit(100))).toBe(false);
    }
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it('leaves a tenant whole whose restore finds no room, and other tenants writing', async () => {
    await using disk = await SmallDisk.mount(4 * DISK_BYTES);
    await using server = serverOn(disk);
    await server.start();
    const [old, other] = [new Filler(server, 'restored'), new Filler(server, 'other')];
    for (let n = 0; n < 20; n++) await old.commit(60_000);
    const large = await old.export();
    for (let n = 0; n < 3; n++) await old.commit(100);
    for (let n = 0; n < 3; n++) await other.commit(100);
    const hashes = async () => [(await old.export()).contentHash, (await other.export()).contentHash];
    const before = await hashes();

    disk.fill(2 * 1024 * 1024);
    const refused = await old.post('/restore', { snapshot: large });
    expect(refused?.body).toMatchObject(FULL);
    expect(await hashes()).toEqual(before);
    expect(isFull(await other.commit(100))).toBe(false);
    disk.fill();
    expect((await old.post('/restore', { snapshot: large }))?.body).toMatchObject(FULL);
    const [oldHash] = await hashes();
    expect(oldHash).toBe(before[0]);

    disk.free();
    expect((await old.post('/restore', { snapshot: large }))?.status).toBe(204);
    expect((await old.export()).contentHash).toBe(large.contentHash);
    expect(await other.faults()).toEqual([]);
    // Upkeep removes the records of the failed restore too, behind ordinary calls.
    const left = () => answerOf(disk, `SELECT state FROM spaces WHERE state <> 'live'`);
    await expect.poll(left).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it.each([0, 4096, 16_384, 40_960])(
    'does not start in a new folder with %i bytes left, and says why',
    async (bytes) => {
      await using disk = await SmallDisk.mount(DISK_BYTES);
      await using server = serverOn(disk);
      disk.fill(bytes);
      const { code, stderr } = await server.refusedStart();
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The database \S+ cannot be opened: .*disk is full.*\n$/);
      disk.free();
      await server.start();
      expect(isFull(await new Filler(server, 't').commit(10))).toBe(false);
      expect(await server.stop()).toBe(0);
    },
  );

  it.each(['stopped', 'killed'])('starts on what is there, or says why not: %s before', async (how) => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    await using server = serverOn(disk);
    await server.start();
    const filler = new Filler(server, 't');
    for (let n = 0; n < 20; n++) await filler.commit(1_000);
    if (how === 'stopped') await server.stop();
    else await server.kill();
    disk.fill();
    if (how === 'stopped') {
      // The file that processes share is gone, and there is no room for it.
      const { code, stderr } = await server.refusedStart();
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The database \S+ cannot be opened: the disk is full: .*\n$/);
      disk.free();
      disk.fill(65_536);
    }
    await server.start();
    expect(await filler.faults()).toEqual([]);
    await filler.fill(60_000);
    expect(await filler.faults()).toEqual([]);
    disk.free();
    expect(isFull(await filler.commit(1_000))).toBe(false);
    expect(await server.stop()).toBe(0);
    expect(integrity(disk)).toEqual(SOUND);
  });

  it.each(Object.entries(DISK_FLAWS))('shows a planted bug: %s', async (name, { about, shows }) => {
    const random = new Random(SEED);
    const found: string[] = [];
    for (let disks = 0; disks < FLAW_DISKS && found.length === 0; disks++) {
      await using disk = await SmallDisk.mount(DISK_BYTES);
      await using server = serverOn(disk, 'true', plantedFlaw(name));
      await server.start();
      const filler = new Filler(server, name);
      await fillAtRandom(disk, server, filler, random).catch((error: unknown) => found.push(String(error)));
      found.push(...(await filler.faults().catch((error: unknown) => [String(error)])));
    }
    expect(found.join('\n'), `${about}; ${repeatLine}`).toMatch(shows);
  });
});
