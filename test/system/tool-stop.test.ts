import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { TenantClient } from '../support/canonical.ts';
import {
  changeTenant,
  type Ended,
  follow,
  hashIn,
  inFolder,
  jsonOf,
  onSample,
  type RunningTool,
  runTool,
  startTool,
  SAMPLE_TENANT as tenant,
  toolCommandLine,
  withDatabase,
} from '../support/operator-tool.ts';

/** The operator tool when it is stopped, or runs at a terminal; and its memory. */

const COMMITS = 100;
const DOCUMENTS = 100;

async function fill(store: RecordStore, commits: number, documents: number, data: object): Promise<void> {
  const client = new TenantClient(store, tenant);
  for (let commit = 0; commit < commits; commit++) {
    const ids = Array.from({ length: documents }, (_, n) => `${commit}-${n}`);
    await client.commit({ mutations: ids.map((id) => client.upsert(id, { ...data, id })) });
  }
}

/** Settles once the folder holds `name`. */
function appears(folder: string, name: string): Promise<void> {
  return new Promise((done) => {
    const watcher = watch(folder, () => look());
    const look = () => {
      if (!existsSync(join(folder, name))) return;
      watcher.close();
      done();
    };
    look();
  });
}

/** Options of Node with which the n-th opening of a file waits for a signal: the tool cannot end before it is stopped. */
const heldOpen = (name: string, turn: number) => {
  return {
    node: ['--import', join(import.meta.dirname, `../support/held-open.ts?name=${name}&turn=${turn}`)],
  };
};
const DURING_EXPORT = heldOpen('chunk-000006.bin', 1);
/** A restore reads the chunk first to verify the archive, and then to restore it. */
const DURING_RESTORE = heldOpen('chunk-000006.bin', 2);

/** Ends a tool in the middle of its work. */
async function stopped(tool: RunningTool, middle: Promise<void>, signal: NodeJS.Signals): Promise<Ended> {
  await Promise.race([middle, tool.ended]);
  tool.process.kill(signal);
  return tool.ended;
}

describe('a tenant of ten thousand documents', () => {
  let release: () => void;
  let folder: string;
  let live: string;
  const at = (name: string) => join(folder, name);
  const database = () => ['--canonical-db', at('large.sqlite'), '--tenant', tenant];
  let kept: Promise<void>;

  beforeAll(async () => {
    await new Promise<void>((ready) => {
      kept = inFolder(async (made) => {
        folder = made;
        await withDatabase(at('large.sqlite'), (store) => fill(store, COMMITS, DOCUMENTS, {}));
        ready();
        await new Promise<void>((done) => {
          release = done;
        });
      });
    });
    const whole = ['--directory', at('whole'), '--chunk-bytes', '500000'];
    await runTool(['canonical-archive-export', ...database(), ...whole]);
    live = await changeTenant(at('large.sqlite'));
  });

  afterAll(async () => {
    release();
    await kept;
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('an export that %s stops leaves nothing', async (signal, code) => {
    const directory = at(`stopped-${signal}`);
    mkdirSync(directory);
    const args = ['canonical-archive-export', ...database(), '--directory', directory, '--chunk-bytes', '1'];
    const ended = await stopped(
      startTool(args, DURING_EXPORT),
      appears(directory, 'chunk-000005.bin'),
      signal,
    );
    expect(ended).toEqual({ code, stdout: '', stderr: 'Interrupted: no archive was written\n' });
    expect(await readdir(directory)).toEqual([]);
  });

  test('a killed export leaves no archive, and its remains say so', async () => {
    const directory = at('killed');
    mkdirSync(directory);
    const args = ['canonical-archive-export', ...database(), '--directory', directory, '--chunk-bytes', '1'];
    await stopped(startTool(args, DURING_EXPORT), appears(directory, 'chunk-000005.bin'), 'SIGKILL');
    const names = await readdir(directory);
    expect(names).toContain('chunk-000005.bin');
    expect(names).not.toContain('manifest.json');
    const verified = await runTool(['canonical-archive-verify', '--directory', directory]);
    expect(verified).toEqual({ code: 1, stdout: '', stderr: 'manifest.json: is missing\n' });
    expect(await runTool(args)).toMatchObject({ code: 4 });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('a restore that %s stops replaces nothing', async (signal, code) => {
    const args = [
      'canonical-archive-restore',
      ...database(),
      '--directory',
      at('whole'),
      '--yes',
      '--verbose',
    ];
    const tool = startTool(args, DURING_RESTORE);
    const ended = await stopped(tool, tool.says('restoring …'), signal);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    // With --verbose the stack shows its cause.
    expect(ended.stderr).toContain('Interrupted: nothing was replaced');
    expect(await hashIn(at('large.sqlite'))).toBe(live);
  });

  test('a restore that is killed replaces nothing, and the next one goes through', async () => {
    const args = [
      'canonical-archive-restore',
      ...database(),
      '--directory',
      at('whole'),
      '--yes',
      '--verbose',
    ];
    const tool = startTool(args, DURING_RESTORE);
    const ended = await stopped(tool, tool.says('restoring …'), 'SIGKILL');
    expect([ended.code, ended.stdout]).toEqual([null, '']);
    expect(await hashIn(at('large.sqlite'))).toBe(live);
    const again = await runTool([...args.slice(0, -1), '--output', 'json']);
    const manifest = JSON.parse(String(await readFile(at('whole/manifest.json')))) as ArchiveManifest;
    expect(jsonOf(again)).toMatchObject({ counts: { documents: COMMITS * DOCUMENTS } });
    expect(await hashIn(at('large.sqlite'))).toBe(manifest.snapshotContentHash);
  });
});

test('archives are made and restored in less memory than their tenant takes', () =>
  inFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    // 58 MB of documents, and the same again as their revisions: more than the heap that is given.
    await withDatabase(at('big.sqlite'), (store) => fill(store, 24, 3, { pad: 'x'.repeat(800_000) }));
    const node = ['--max-old-space-size=72'];
    const args = ['--tenant', tenant, '--directory', at('arch'), '--output', 'json'];
    const made = await runTool(['canonical-archive-export', '--canonical-db', at('big.sqlite'), ...args], {
      node,
    });
    expect([made.code, made.stderr]).toEqual([0, '']);
    const into = ['canonical-archive-restore', '--canonical-db', at('copy.sqlite'), '--create', '--yes'];
    const back = await runTool([...into, ...args], { node });
    expect([back.code, back.stderr]).toEqual([0, '']);
    const content = ({ snapshotContentHash, counts }: ArchiveManifest) => ({ snapshotContentHash, counts });
    expect(content(jsonOf(back))).toEqual(content(jsonOf(made)));
  }));

const noTerminal = spawnSync('script', ['--version']).status !== 0;

describe.skipIf(noTerminal)('at a terminal', () => {
  /** The tool at a terminal of its own, to which `type` writes. */
  function atTerminal(folder: string, args: readonly string[]): RunningTool & { type(text: string): void } {
    const command = ['-qefc', toolCommandLine(args), '/dev/null'];
    const child = spawn('script', command, { cwd: folder, env: { PATH: process.env['PATH'] ?? '' } });
    return { ...follow(child), type: (text) => void child.stdin.write(text) };
  }

  const restored = [
    'canonical-archive-restore',
    '--db',
    'svc.sqlite',
    '--tenant',
    tenant,
    '--directory',
    'arch',
  ];
  const question = 'Type the name of the tenant';

  const answers: [string, string, number, string][] = [
    ['its name', `${tenant}\n`, 0, 'snapshot content hash'],
    ['another name', 'tenant-b\n', 1, 'The name was not typed: nothing was replaced'],
    ['yes', 'yes\n', 1, 'The name was not typed: nothing was replaced'],
    ['nothing', '\n', 1, 'The name was not typed: nothing was replaced'],
    ['the end of the input', '\x04', 1, 'The name was not typed: nothing was replaced'],
    ['the interrupt key', '\x03', 130, 'Interrupted: nothing was replaced'],
  ];
  test.each(answers)('the tenant is replaced by its name alone: %s', (_, typed, code, message) =>
    onSample(async ({ folder, at, svc }) => {
      const copy = await hashIn(at('svc.canonical.sqlite'));
      await svc([
        'canonical-archive-export',
        '--db',
        'svc.sqlite',
        '--tenant',
        tenant,
        '--directory',
        'arch',
      ]);
      const live = await changeTenant(at('svc.canonical.sqlite'));
      const tool = atTerminal(folder, restored);
      await tool.says(question);
      tool.type(typed);
      const ended = await tool.ended;
      expect([ended.code, ended.stdout]).toEqual([code, expect.stringContaining(message)]);
      // The lost and the new content were printed before the question.
      const [printed = ''] = ended.stdout.split(question);
      expect(printed).toContain(live);
      expect(printed).toContain(copy);
      expect(await hashIn(at('svc.canonical.sqlite'))).toBe(code === 0 ? copy : live);
    }),
  );

  test('progress is shown on one line, which is taken away', () =>
    onSample(async ({ folder, svc }) => {
      await svc([
        'canonical-archive-export',
        '--db',
        'svc.sqlite',
        '--tenant',
        tenant,
        '--directory',
        'arch',
      ]);
      const ended = await atTerminal(folder, [...restored, '--yes']).ended;
      expect(ended.code).toBe(0);
      expect(ended.stdout).toContain('\r\x1b[Kverifying: 1 of 9 records');
      expect(ended.stdout).toContain('\r\x1b[Krestoring: 1 of 9 records (11%)\r\x1b[K');
      // On a slow machine it is redrawn before the end.
      const atEnd = ended.stdout.slice(0, ended.stdout.indexOf('\r\x1b[Ktenant id'));
      expect(atEnd.split('\r').at(-1)).toMatch(/restoring: \d of 9 records \(\d+%\)/);
    }));
});
