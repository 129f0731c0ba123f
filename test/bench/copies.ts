import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MANIFEST_NAME } from '../../functions/archives/chunk-list.ts';
import { type ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import type { BenchOptions } from './canonical-http.ts';
import type { CopyTask, StepFigures } from './copies-child.ts';
import { type BenchDatabase, type BenchProvider, startProvider } from './databases.ts';
import { medianNumber, round } from './load.ts';

const run = promisify(execFile);
const TENANT_ID = 'bench';

/**
 * Archives of tenants of several sizes: export into a folder, its check, and restore into another database, each in a
 * process of its own, whose peak of memory is measured; beside the same rows and bytes by driver, zlib and SHA-256 alone.
 * The bare figures are measured at the first size only: the other sizes show how memory grows.
 */
export async function benchCopies({ rounds, providers: chosen, megabytes }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of chosen) {
    const provider = await startProvider(name);
    try {
      results[name] = await benchProvider(provider, megabytes, rounds);
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'copies',
    measures: {
      export: 'the tenant into an archive of files, chunks of 8 MiB, gzip 6',
      verify: 'reading that archive to its end with every check',
      restore: 'verify, then the archive into an empty database',
      mbPerSecond: 'lines of the archive, uncompressed',
      cpuSeconds: 'processor time of the process, without that of a database server',
      peakRssMb: 'of the process, mapped files included; peakOwnMb is what it had to itself',
      bareExport: 'rows by the driver in the same order (read), then gzip 6, two SHA-256 and files (pack)',
      bareRestore: 'files, SHA-256, gunzip, SHA-256 (unpack), then the same rows by the driver (write)',
      ofBare: 'speed beside bare in the same round, whose parts follow one another',
      ofSmallest: 'peakRssMb beside that of the smallest tenant',
    },
    megabytes,
    results,
  };
}

type Rounds = Record<string, StepFigures[]>;

async function benchProvider(
  provider: BenchProvider,
  megabytes: readonly number[],
  rounds: number,
): Promise<object> {
  const sizes: Awaited<ReturnType<typeof benchSize>>[] = [];
  for (const size of megabytes) {
    sizes.push(await benchSize(provider, size, rounds, size === megabytes[0]));
  }
  const growth = Object.fromEntries(
    ['export', 'restore'].map((step) => {
      const peaks = sizes.map(({ peaks: each }) => each[step] ?? Number.NaN);
      return [step, peaks.map((peak) => round(peak / (peaks[0] ?? Number.NaN)))];
    }),
  );
  return { about: provider.about, sizes: sizes.map(({ shown }) => shown), ofSmallest: growth };
}

async function benchSize(provider: BenchProvider, megabytes: number, rounds: number, withBare: boolean) {
  const source = await madeDatabase(provider);
  const base = { settings: source.settings, tenantId: TENANT_ID, folder: '', megabytes };
  const say = (text: string) => console.error(`copies: ${provider.name}, ${megabytes} MB: ${text}`);
  const built = await child({ ...base, step: 'build' });
  say(`built in ${Math.round(built.seconds)} s`);
  const figures: Rounds = {};
  let archive: ArchiveSize | undefined;
  for (let n = 0; n < rounds; n++) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-archive-'));
    try {
      const [archived, bare] = [join(folder, 'archive'), join(folder, 'bare')];
      await Promise.all([mkdir(archived), mkdir(bare)]);
      const tasks: Record<string, Partial<CopyTask>> = {
        idle: {},
        ...(withBare ? { bareExport: { folder: bare } } : {}),
        export: { folder: archived },
        ...(withBare
          ? {
              verify: { folder: archived },
              bareRestore: { folder: archived, from: source.settings, ...(await elsewhere(provider)) },
            }
          : {}),
        restore: { folder: archived, ...(await elsewhere(provider)) },
      };
      for (const [step, task] of Object.entries(tasks)) {
        const figure = await child({ ...base, ...task, step: step as CopyTask['step'] });
        (figures[step] ??= []).push(figure);
        say(
          `${step} ${round(figure.seconds)} s (${round(figure.cpuSeconds)} of processor), ${figure.peakRssMb} MB`,
        );
      }
      archive = await sizeOf(archived);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  if (archive === undefined) throw new Error('nothing was measured');
  return summary(figures, archive, built, withBare);
}

async function madeDatabase(provider: BenchProvider): Promise<BenchDatabase> {
  const database = await provider.database();
  const store = await database.open();
  await store.ping();
  await store.close();
  return database;
}

async function elsewhere(provider: BenchProvider): Promise<Pick<CopyTask, 'settings'>> {
  const { settings } = await madeDatabase(provider);
  return { settings };
}

/** Runs a step in a process of its own. */
export async function child(task: CopyTask): Promise<StepFigures> {
  const script = join(import.meta.dirname, 'copies-child.ts');
  const { stdout } = await run(process.execPath, [script, JSON.stringify(task)], {
    env: { ...process.env, METADATA_SERVER_DETECTION: 'none' },
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as StepFigures;
}

interface ArchiveSize {
  readonly records: number;
  /** The size of all lines. */
  readonly megabytes: number;
  readonly storedMegabytes: number;
  readonly chunks: number;
}

async function sizeOf(folder: string): Promise<ArchiveSize> {
  const manifest = JSON.parse(await readFile(join(folder, MANIFEST_NAME), 'utf8')) as ArchiveManifest;
  let bytes = 0;
  for (const name of await readdir(folder)) {
    // The last four bytes of a gzip hold the uncompressed size.
    if (name !== MANIFEST_NAME) bytes += (await readFile(join(folder, name))).subarray(-4).readUInt32LE();
  }
  return {
    records: Object.values(manifest.counts).reduce((sum, count) => sum + count, 0),
    megabytes: bytes / 1e6,
    storedMegabytes: manifest.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0) / 1e6,
    chunks: manifest.chunks.length,
  };
}

function summary(figures: Rounds, archive: ArchiveSize, built: StepFigures, withBare: boolean) {
  const of = (step: string, pick: (figure: StepFigures) => unknown): number =>
    medianNumber((figures[step] ?? []).map((figure) => Number(pick(figure))));
  const seconds = (step: string) => of(step, (figure) => figure.seconds);
  const memory = (step: string) => ({
    peakRssMb: of(step, (figure) => figure.peakRssMb),
    peakOwnMb: of(step, (figure) => figure.peakOwnMb),
  });
  const rates = (step: string) => ({
    seconds: round(seconds(step)),
    cpuSeconds: round(of(step, (figure) => figure.cpuSeconds)),
    mbPerSecond: round(archive.megabytes / seconds(step)),
    recordsPerSecond: round(archive.records / seconds(step)),
    ...memory(step),
  });
  const bare = (step: string, parts: readonly string[]) => {
    const each = parts.map(
      (part) => [`${part}Seconds`, of(step, (figure) => figure[`${part}Seconds`])] as const,
    );
    return Object.fromEntries(each.map(([name, value]) => [name, round(value)]));
  };
  const ofBare = (step: string, bareStep: string, parts: readonly string[]) =>
    round(
      medianNumber(
        (figures[step] ?? []).map((figure, n) => {
          const limit = figures[bareStep]?.[n];
          const all = parts.reduce((sum, part) => sum + Number(limit?.[`${part}Seconds`]), 0);
          return all / figure.seconds;
        }),
      ),
    );
  const [exporting, restoring] = [['read', 'pack'] as const, ['unpack', 'write'] as const];
  const shown = {
    records: archive.records,
    megabytes: round(archive.megabytes),
    storedMegabytes: round(archive.storedMegabytes),
    chunks: archive.chunks,
    buildSeconds: round(built.seconds),
    idle: memory('idle'),
    export: rates('export'),
    restore: rates('restore'),
    ...(withBare
      ? {
          verify: rates('verify'),
          bareExport: {
            ...bare('bareExport', exporting),
            megabytes: round(of('bareExport', (figure) => figure['bytes']) / 1e6),
          },
          bareRestore: bare('bareRestore', restoring),
          ofBare: {
            export: ofBare('export', 'bareExport', exporting),
            restore: ofBare('restore', 'bareRestore', restoring),
          },
        }
      : {}),
  };
  const peaks: Record<string, number> = {};
  for (const step of ['export', 'restore']) peaks[step] = memory(step).peakRssMb;
  return { shown, peaks };
}
