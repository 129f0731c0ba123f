import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SmallDisk, smallDiskMissing } from './disk-full-disk.ts';
import { Filler } from './disk-full-filler.ts';
import { LoopServer } from './kill-loop-server.ts';
import { type Exit, Program, root } from './program.ts';

const DISK_BYTES = 2 * 1024 * 1024;
const TENANT = 'acme';

// In CI such a machine is a fault of the machine.
const skipped = smallDiskMissing !== undefined && process.env['CI'] === undefined;
const omitted = skipped ? `, left out: ${smallDiskMissing}` : '';

/** About 2 MB of text that hardly shrinks, in a database on a disk of the usual size. */
const folder = mkdtempSync(join(tmpdir(), 'svc-full-tool-'));
const database = join(folder, 'svc.canonical.sqlite');
let contentHash = '';
beforeAll(async () => {
  await using server = new LoopServer({ folder });
  await server.start();
  const filler = new Filler(server, TENANT);
  for (let n = 0; n < 20; n++) await filler.commit(60_000);
  ({ contentHash } = await filler.export());
  await server.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the tool where it sees the small disk. */
async function tool(disk: SmallDisk, name: string, ...options: string[]): Promise<Exit & { said: string }> {
  const line = [join(root, 'cli/main.ts'), name, ...options];
  const { command, args } = disk.command(process.execPath, line);
  await using program = new Program(args, { command });
  const exit = await program.exit;
  return { ...exit, said: `${program.stdout}${program.stderr}` };
}

const ofTenant = ['--tenant', TENANT];
const onDatabase = [...ofTenant, '--canonical-db', database];
const noSpace = { code: 1, said: expect.stringContaining('no space is left on the device') as string };

describe.skipIf(skipped)(`the operator tool and a full disk${omitted}`, () => {
  it.each([0, DISK_BYTES / 4])('leaves no incomplete archive: %i bytes left', async (bytes) => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    const directory = join(disk.path, 'archive');
    const write = ['--directory', directory, '--chunk-bytes', '100000', ...onDatabase];
    disk.fill(bytes);
    expect(await tool(disk, 'canonical-archive-export', ...write)).toMatchObject(noSpace);
    expect(readdirSync(disk.seen)).toEqual(['ballast']);

    disk.free();
    const written = await tool(disk, 'canonical-archive-export', ...write);
    expect(written.code, written.said).toBe(0);
    const verified = await tool(disk, 'canonical-archive-verify', '--directory', directory);
    expect(verified.code, verified.said).toBe(0);
  });

  it.each([DISK_BYTES / 2])('leaves no incomplete snapshot: %i bytes left', async (bytes) => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    disk.fill(bytes);
    const file = join(disk.path, 'acme.json');
    expect(await tool(disk, 'canonical-export', '--file', file, ...onDatabase)).toMatchObject(noSpace);
    expect(readdirSync(disk.seen)).toEqual(['ballast']);
  });

  it('leaves the snapshot that was there before', async () => {
    await using disk = await SmallDisk.mount(8 * DISK_BYTES);
    const write = ['--file', join(disk.path, 'acme.json'), ...onDatabase];
    expect((await tool(disk, 'canonical-export', ...write)).code).toBe(0);
    disk.fill(DISK_BYTES / 2);
    expect(await tool(disk, 'canonical-export', ...write, '--force')).toMatchObject(noSpace);
    expect(readdirSync(disk.seen).sort()).toEqual(['acme.json', 'ballast']);
    const expected = ['--expected-content-hash', contentHash, '--yes'];
    const restored = await tool(disk, 'canonical-restore', ...write, ...expected);
    expect(restored.code, restored.said).toBe(0);
  });

  it('reports a database on a full disk, and replaces nothing there', async () => {
    await using disk = await SmallDisk.mount(8 * DISK_BYTES);
    await using server = new LoopServer({
      folder: disk.folder('data'),
      within: (program, args) => disk.command(program, args),
    });
    await server.start();
    const filler = new Filler(server, TENANT);
    await filler.commit(100);
    const before = await filler.export();
    const file = join(folder, 'acme.json');
    expect((await tool(disk, 'canonical-export', '--file', file, ...onDatabase)).code).toBe(0);
    disk.fill(DISK_BYTES);
    const there = ['--canonical-db', join(disk.path, 'data/svc.canonical.sqlite')];
    const refused = await tool(disk, 'canonical-restore', ...ofTenant, '--file', file, '--yes', ...there);
    expect(refused).toMatchObject({ code: 1, said: expect.stringMatching(/full.*Nothing was replaced/s) });
    expect((await filler.export()).contentHash).toBe(before.contentHash);
    expect(await server.stop()).toBe(0);

    // The file that processes share is gone, and there is no room for it.
    disk.fill();
    const unopened = await tool(disk, 'canonical-sweep', ...there);
    expect(unopened).toMatchObject({ code: 1, said: expect.stringMatching(/full|disk I\/O error/) });
  });
});
