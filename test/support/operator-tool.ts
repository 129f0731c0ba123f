import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import {
  collected,
  eachOf,
  sampleTenant,
  scanned,
} from '../../functions/groups/canonical/copies/snapshot/tenants.fixture.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { collections, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { TenantClient } from './canonical.ts';
import { compileCache } from './compile-cache.ts';

export interface ToolRun {
  readonly cwd?: string;
  /** Beside the path, and nothing else of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The bytes on standard input, which is no terminal. */
  readonly input?: string | Uint8Array;
  /** Options of Node itself. */
  readonly node?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const toolMain = resolve(import.meta.dirname, '../../cli/main.ts');

/** The tool as an operator runs it, in a process of its own. */
export async function runTool(args: readonly string[], run: ToolRun = {}): Promise<Ended> {
  const child = startTool(args, run);
  child.process.stdin?.end(run.input ?? '');
  return child.ended;
}

/** The command line of the tool for a shell. */
export function toolCommandLine(args: readonly string[]): string {
  return [process.execPath, toolMain, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

export interface RunningTool {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Settles once it has said `text`; fails where it ends without. */
  readonly says: (text: string) => Promise<void>;
}

export function startTool(args: readonly string[], { cwd, env = {}, node = [] }: ToolRun = {}): RunningTool {
  const PATH = process.env['PATH'] ?? '';
  const how = { env: { PATH, ...compileCache, ...env }, ...(cwd === undefined ? {} : { cwd }) };
  return follow(spawn(process.execPath, [...node, toolMain, ...args], how));
}

export function follow(child: ChildProcess): RunningTool {
  const said = { stdout: '', stderr: '' };
  const looks = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      for (const look of looks) look();
    });
  }
  // A tool that ends early closes the pipe of its input.
  child.stdin?.on('error', () => undefined);
  const ended = new Promise<Ended>((done) => {
    child.once('close', (code) => done({ code, ...said }));
  });
  const says = (text: string) =>
    new Promise<void>((done, fail) => {
      const look = () => {
        if (said.stderr.includes(text) || said.stdout.includes(text)) done();
      };
      looks.add(look);
      void ended.then(() => fail(new Error(`ended without saying ${text}: ${said.stdout}${said.stderr}`)));
      look();
    });
  return { process: child, ended, says };
}

/** A folder that is gone after the test. */
export async function inFolder<R>(use: (folder: string) => Promise<R>): Promise<R> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-tool-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const SAMPLE_TENANT = 'tenant-a';
export const sampleCounts = { commits: 2, documents: 2, events: 4, fences: 1 };

/** A database with the sample tenant, which has every kind of record, and the records that `more` adds. */
export async function sampleDatabase(
  path: string,
  more: (store: RecordStore) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  await withDatabase(path, async (store) => {
    const sample = await sampleTenant();
    const pages = await collected(scanned(sample.store, SAMPLE_TENANT));
    const records = pages.flatMap((page) => page.records);
    await store.swap(tenantScope(SAMPLE_TENANT), eachOf(records), () => undefined);
    await more(store);
  });
  return path;
}

export async function withDatabase<R>(path: string, use: (store: RecordStore) => Promise<R>): Promise<R> {
  const store = await openSqliteStore({ path, ...machine, collections });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The name of a tenant's content, on every database. */
export function hashIn(path: string, tenantId = SAMPLE_TENANT): Promise<string> {
  return withDatabase(path, async (store) => {
    return (await exportTenant(store, tenantId, { now: machine.clock.now() })).contentHash;
  });
}

/** Changes the tenant after its copy was made. Returns the hash of its new content. */
export async function changeTenant(path: string, tenantId = SAMPLE_TENANT): Promise<string> {
  await withDatabase(path, async (store) => {
    const client = new TenantClient(store, tenantId);
    await client.commit({ mutations: [client.upsert('since')] });
  });
  return hashIn(path, tenantId);
}

export interface ToolBench {
  readonly folder: string;
  /** The path of a name in the folder. */
  readonly at: (name: string) => string;
  /** Runs the tool in the folder. */
  readonly svc: (args: readonly string[], run?: ToolRun) => Promise<Ended>;
}

/** A folder with `svc.canonical.sqlite`, which holds the sample tenant and another one, `tenant-b`. */
export async function onSample(use: (bench: ToolBench) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    await sampleDatabase(join(folder, 'svc.canonical.sqlite'), async (store) => {
      const other = new TenantClient(store, 'tenant-b');
      await other.commit({ mutations: [other.upsert('theirs')] });
    });
    await use({
      folder,
      at: (name) => join(folder, name),
      svc: (args, run = {}) => runTool(args, { cwd: folder, ...run }),
    });
  });
}

/** Parses the output that a command printed for programs. */
export function jsonOf<T>({ stdout }: Ended): T {
  return JSON.parse(stdout) as T;
}
