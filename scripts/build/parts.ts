import type { Metafile } from 'esbuild';
import { catalogGroups } from '../../functions/compose/catalog-groups.ts';

/** The parts of the functions' bundle and their budgets. */

/** A part of the bundle and its budget in bytes of JavaScript; a larger part fails the build. */
export interface Part {
  readonly bytesMax: number;
  /** The entry modules of the part. */
  readonly entries: readonly string[];
  /** Whether its dynamic imports count too, except those that belong to another part. */
  readonly later?: boolean;
}

/** The static imports of the entry: each function reads them before its first request. */
export const start: Part = { bytesMax: 222_000, entries: ['functions/index.ts'] };

/** The budget in bytes of all that a function reads until it has answered its first request on Firestore. */
const firstAnswerMax = 3_800_000;

/** The parts that belong to no group. Groups name their own budgets in functions/compose/groups. */
export const sharedParts: Readonly<Record<string, Part>> = {
  /** The run engine, in each function that starts, executes or maintains runs. Handlers in the process start children and commit too. */
  runtime: { bytesMax: 187_000, entries: ['functions/compose/execution.ts'], later: true },
  /** The published contract. Read on request. */
  documents: {
    bytesMax: 1_266_000,
    entries: ['contracts/generated/openapi/svc.json', 'contracts/generated/schemas/svc-public.schema.json'],
  },
  /** The page `/docs`, where it is enabled. Its files are read on request. */
  docs: { bytesMax: 24_000, entries: ['functions/groups/server/docs/docs.ts'] },
  /** Read with the first guide of that page. */
  guides: { bytesMax: 60_000, entries: ['functions/groups/server/docs/markdown.ts'] },
  sqlite: { bytesMax: 86_000, entries: ['functions/store/sqlite/store.ts'] },
  firestore: { bytesMax: 2_900_000, entries: ['functions/store/firestore/store.ts'] },
  postgresql: { bytesMax: 200_000, entries: ['functions/store/postgres/store.ts'] },
  mysql: { bytesMax: 1_200_000, entries: ['functions/store/mysql/store.ts'] },
  /** Read with the first call of a model of Google. Shares most of its bytes with the driver of Firestore. */
  googleModels: { bytesMax: 600_000, entries: ['functions/providers/outgoing/auth-library.ts'] },
  /** The hosted worker, and the functions that the scheduler calls. */
  besideGroups: {
    bytesMax: 122_000,
    entries: [
      'functions/groups/execution/delivery-operation.ts',
      'functions/groups/execution/scheduled-operations.ts',
    ],
  },
  /** The MCP endpoint, with the definitions of its tools; its function reads the groups that it calls as well. */
  mcp: {
    bytesMax: 450_000,
    entries: ['functions/compose/mcp.ts', 'contracts/generated/mcp/definitions.json'],
  },
  /** Makes messages for Cloud Tasks. The first message reads the client. */
  cloudQueue: {
    bytesMax: 10_000,
    entries: ['functions/queue/cloud-tasks/cloud-tasks-queue.ts', 'functions/queue/cloud-tasks/routes.ts'],
  },
  /** Shares most of its bytes with the driver of Firestore. */
  cloudTasks: { bytesMax: 1_600_000, entries: ['functions/queue/cloud-tasks/client.ts'] },
  /** Read with the first artifact in a bucket. Shares most of its bytes with the driver of Firestore. */
  cloudStorage: { bytesMax: 1_230_000, entries: ['functions/blobs/cloud-storage/store.ts'] },
};

/** The parts with code of packages. All other parts hold only the project's own code. */
export const partsWithPackages = [
  'firestore',
  'postgresql',
  'mysql',
  'cloudStorage',
  'cloudTasks',
  'googleModels',
  'guides',
];

/** One part for each group of the catalog: its code, its operations and its validators. */
export async function groupParts(): Promise<Readonly<Record<string, Part>>> {
  const parts = catalogGroups.map(async ({ name, module }) => {
    const entries = [
      `functions/compose/groups/${name}.ts`,
      `contracts/generated/operations/${name}.ts`,
      `contracts/generated/validators/${name}.js`,
    ];
    return [name, { bytesMax: (await module()).bytesMax, entries, later: true }] as const;
  });
  return Object.fromEntries(await Promise.all(parts));
}

export interface PartSize {
  readonly name: string;
  readonly bytes: number;
  readonly bytesMax: number;
}

/** Bytes of each part beyond the start. */
export function sizesOf(metafile: Metafile, groups: Readonly<Record<string, Part>>): readonly PartSize[] {
  const parts = { ...groups, ...sharedParts };
  const outputsOf = (entries: readonly string[]) => entries.map((entry) => outputOf(metafile, entry));
  const started = closure(metafile, outputsOf(start.entries));
  const sizes = Object.entries(parts).map(([name, { entries, bytesMax, later }]) => {
    const own = outputsOf(entries);
    const others = Object.values(parts).flatMap((part) => outputsOf(part.entries));
    const stop = [...started, ...others.filter((output) => !own.includes(output))];
    const read = closure(metafile, own, later, later === true ? stop : [...started]);
    return { name, bytes: bytesIn(metafile, read), bytesMax };
  });
  return [{ name: 'start', bytes: bytesIn(metafile, started), bytesMax: start.bytesMax }, ...sizes];
}

export function bytesIn(metafile: Metafile, outputs: ReadonlySet<string>): number {
  return [...outputs].reduce((sum, output) => sum + (metafile.outputs[output]?.bytes ?? 0), 0);
}

/** The output with this entry module, or else the output that contains it. */
export function outputOf(metafile: Metafile, input: string): string {
  const outputs = Object.entries(metafile.outputs);
  const found =
    outputs.find(([, output]) => output.entryPoint === input) ??
    outputs.find(([, output]) => input in output.inputs);
  if (found === undefined)
    throw new Error(`${input} is in no output: a budget names a module that does not exist`);
  return found[0];
}

/** The outputs that `entries` import statically; with `later` also their dynamic imports. */
export function closure(
  metafile: Metafile,
  entries: readonly string[],
  later = false,
  without: readonly string[] = [],
): Set<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name) || without.includes(name)) continue;
    seen.add(name);
    for (const { path, kind } of metafile.outputs[name]?.imports ?? []) {
      if ((later || kind === 'import-statement') && path in metafile.outputs) open.push(path);
    }
  }
  return seen;
}

export function budgetFaults(sizes: readonly PartSize[]): string[] {
  return sizes
    .filter(({ bytes, bytesMax }) => bytes > bytesMax)
    .map(({ name, bytes, bytesMax }) => `${name} has ${bytes} bytes, over its budget of ${bytesMax}`);
}

/** The JavaScript that one function reads until it has answered its first request on Firestore. */
export function startsOf(metafile: Metafile, groups: Readonly<Record<string, Part>>): readonly PartSize[] {
  const beside = sharedParts['besideGroups']?.entries ?? [];
  const functions = { ...groups, 'worker, reconcile, prune': { entries: beside, later: true } };
  const outputsOf = (entries: readonly string[]) => entries.map((entry) => outputOf(metafile, entry));
  const shared = Object.values(sharedParts).flatMap((part) => outputsOf(part.entries));
  return Object.entries(functions).map(([name, { entries }]) => {
    const own = outputsOf(entries);
    const stop = shared.filter((output) => !own.includes(output));
    const read = new Set([
      ...closure(metafile, outputsOf(start.entries)),
      ...closure(metafile, own, true, stop),
      ...closure(metafile, outputsOf(sharedParts['runtime']?.entries ?? []), true, stop),
      ...closure(metafile, outputsOf(sharedParts['firestore']?.entries ?? [])),
    ]);
    return { name: `start of ${name}`, bytes: bytesIn(metafile, read), bytesMax: firstAnswerMax };
  });
}
