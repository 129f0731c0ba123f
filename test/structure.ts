/** The imports and globals that the project's source may use: pure rules over one file's path and text. */

const imported =
  /(?:^|[\s;}])(?:import|export)\s(type\s[^'";]*?\sfrom\s|[^'";]*?\sfrom\s)?\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

export interface Import {
  readonly specifier: string;
  readonly dynamic: boolean;
  /** `import type` and `export type`, which compile to nothing. */
  readonly typeOnly: boolean;
}

export function importsOf(text: string): Import[] {
  return [...withoutComments(text).matchAll(imported)].map(([, names = '', fixed, dynamic]) => ({
    specifier: fixed ?? dynamic ?? '',
    dynamic: fixed === undefined,
    typeOnly: /^type\s/.test(names),
  }));
}

/**
 * The room of a file inside `functions/`. A provider is a room of its own, apart from the port that it serves; so is each
 * route group, and the part of a group that other groups may use.
 */
export function roomOf(path: string): string {
  const [, first = '', second = '', third, fourth] = path.split('/');
  if (second === '') return 'root';
  if (first === 'groups') {
    const library = third === 'library.ts' || (third === 'library' && fourth !== undefined);
    return library ? `groups/${second}/library` : `groups/${second}`;
  }
  return ports.has(first) && third !== undefined && !partsOfPorts.has(`${first}/${second}`)
    ? `${first}/${second}`
    : first;
}

/** Folders of a port that are no provider: several providers share them. */
const partsOfPorts: ReadonlySet<string> = new Set(['store/nearest']);

/** Rooms of a port, whose folders are its providers. */
const ports: ReadonlySet<string> = new Set(['store', 'blobs', 'queue']);
const isProviderRoom = (room: string) => ports.has(room.split('/')[0] ?? '') && room.includes('/');

const shared = ['kernel', 'contracts'];

/** Which groups may use the library part of which others. */
const usedGroups: Readonly<Record<string, readonly string[]>> = {
  collections: ['execution', 'records'],
  artifacts: ['execution'],
  rag: ['retrieval'],
};

/** The imports of each room beside itself, other than packages; compare ARCHITECTURE.md, "Rooms". */
const rooms: Readonly<Record<string, readonly string[]>> = {
  kernel: ['contracts'],
  config: shared,
  store: shared,
  quotas: [...shared, 'store'],
  blobs: shared,
  queue: shared,
  identity: shared,
  archives: [...shared, 'store'],
  runs: [...shared, ...ports, 'archives'],
  jobs: [...shared, ...ports, 'runs', 'collections', 'identity', 'http'],
  collections: [...shared, 'store', 'archives', 'blobs'],
  traces: [...shared, 'store', 'collections'],
  providers: [...shared, 'store', 'collections'],
  embeddings: [...shared, 'store', 'collections', 'providers'],
  objects: [...shared, 'store', 'blobs', 'collections'],
  graph: [...shared, 'store', 'collections'],
  rag: [...shared, 'store', 'collections', 'providers', 'embeddings', 'retrieval', 'graph'],
  retrieval: [...shared, 'store', 'collections', 'traces', 'providers', 'embeddings'],
  vectors: shared,
  text: shared,
  http: [...shared, 'identity', 'store'],
  mcp: [...shared, 'http', 'identity'],
};

/** The imports of a group: `groups -> jobs -> runs -> ports -> kernel`, and the shared parts of groups. */
const groupRooms = [
  ...shared,
  ...ports,
  'archives',
  'runs',
  'jobs',
  'collections',
  'quotas',
  'traces',
  'providers',
  'embeddings',
  'objects',
  'graph',
  'rag',
  'retrieval',
  'vectors',
  'text',
  'http',
  'identity',
];

/** `undefined`: anything. A room without an entry may import nothing, so that a new one gets its rule first. */
function allowedFrom(room: string): readonly string[] | undefined {
  if (room === 'root' || room === 'compose') return undefined;
  if (isProviderRoom(room)) return ['kernel', room.split('/')[0] ?? ''];
  const [, group] = /^groups\/([^/]+)/.exec(room) ?? [];
  if (group === undefined) return rooms[room] ?? [];
  const libraries = (usedGroups[group] ?? []).map((name) => `groups/${name}/library`);
  // The library part must not reach the HTTP part of its own group: other groups would load it.
  const own = room.endsWith('/library') ? [] : [`groups/${group}/library`];
  return [...groupRooms, ...libraries, ...own];
}

/** Folders of pure rules inside a room, and their allowed imports beside themselves. */
const pureFolders: Readonly<Record<string, readonly string[]>> = {
  'functions/collections/search/': [
    'contracts/',
    'functions/kernel/',
    'functions/collections/rules/',
    'functions/store/search.ts',
  ],
  'functions/graph/rules/': ['contracts/', 'functions/kernel/', 'functions/collections/rules/'],
  'functions/rag/rules/': [
    'contracts/',
    'functions/kernel/',
    'functions/collections/rules/',
    'functions/embeddings/rules/',
    'functions/embeddings/embedder.ts',
    'functions/graph/rules/',
  ],
};

function pureFault(path: string, target: string): string | null {
  const folder = Object.keys(pureFolders).find((each) => path.startsWith(each));
  if (folder === undefined) return null;
  const isAllowed = [folder, ...(pureFolders[folder] ?? [])].some((each) => target.startsWith(each));
  return isAllowed ? null : `${path} imports ${target}: the rules in ${folder} are pure`;
}

/** The faults of one file of `functions/` or `dispatcher/` against the direction of imports. */
export function importFaults(path: string, text: string): string[] {
  if (path.startsWith('dispatcher/')) return dispatcherFaults(path, text);
  const room = roomOf(path);
  const allowed = allowedFrom(room);
  return importsOf(text).flatMap(({ specifier, dynamic }) => {
    if (!specifier.startsWith('.')) return packageFault(path, room, specifier);
    const target = resolveFrom(path, specifier);
    const outside = pureFault(path, target);
    if (outside !== null) return [outside];
    const to = target.startsWith('functions/') ? roomOf(target) : (target.split('/')[0] ?? '');
    if (isProviderRoom(to) && room !== to) {
      return room === 'compose' && dynamic
        ? []
        : [`${path} imports the provider ${to}: only compose/ may, and dynamically`];
    }
    if (allowed === undefined || to === room || allowed.includes(to)) return [];
    return [`${path} (${room}) imports ${target} (${to})`];
  });
}

/** Other projects copy the dispatcher, so it may import only itself: no package and no file of the service. */
function dispatcherFaults(path: string, text: string): string[] {
  return importsOf(text)
    .filter(({ specifier }) => !/^\.\/[^/]+$/.test(specifier))
    .map(({ specifier }) => `${path} imports ${specifier}: the dispatcher stands on its own`);
}

/** Packages that a room may use. Everything else comes with Node. */
const packages: Readonly<Record<string, readonly string[]>> = {
  http: ['@google-cloud/functions-framework'],
  providers: ['google-auth-library'],
  'groups/server': ['marked'],
  'blobs/cloud-storage': ['google-auth-library'],
  'queue/cloud-tasks': ['@google-cloud/tasks', '@grpc/grpc-js'],
  'store/firestore': ['@google-cloud/firestore'],
  'store/mysql': ['mysql2/promise'],
  'store/postgres': ['pg'],
};

function packageFault(path: string, room: string, specifier: string): string[] {
  if (specifier.startsWith('node:') || (packages[room] ?? []).includes(specifier)) return [];
  return [`${path} imports the package ${specifier}`];
}

function resolveFrom(path: string, specifier: string): string {
  const parts = path.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Pairs of a file and another one that it imports, by value, by type or on demand. */
export function importPairs(texts: ReadonlyMap<string, string>): [importer: string, imported: string][] {
  return [...targetsIn(texts)].flatMap(([path, targets]) =>
    targets.map((target): [string, string] => [path, target]),
  );
}

function targetsIn(texts: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...texts].map(([path, text]) => [
      path,
      importsOf(text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => resolveFrom(path, specifier))
        .filter((target) => texts.has(target)),
    ]),
  );
}

/**
 * Groups of files that import each other in a circle, by value, by type or on demand. A file of such a group cannot be
 * understood, tested or moved without the others.
 */
export function importCycles(texts: ReadonlyMap<string, string>): string[][] {
  const targets = targetsIn(texts);
  const reached = new Map([...texts.keys()].map((path) => [path, reachableFrom(path, targets)]));
  const inCycle = [...texts.keys()].filter((path) => reached.get(path)?.has(path));
  const groups = new Map<string, string[]>();
  for (const path of inCycle) {
    const group = inCycle.filter((other) => reached.get(path)?.has(other) && reached.get(other)?.has(path));
    groups.set(group.sort().join(' '), group);
  }
  return [...groups.values()].sort((a, b) => (a.join() < b.join() ? -1 : 1));
}

/** Every file that `path` imports, directly or through others. */
function reachableFrom(path: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const target of targets.get(next) ?? []) {
      if (seen.has(target)) continue;
      seen.add(target);
      open.push(target);
    }
  }
  return seen;
}

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  readonly instead: string;
  readonly allowed: (path: string) => boolean;
}

const machineFiles = new Set([
  'functions/compose/machine.ts',
  'functions/embedded.ts',
  'functions/embedded-server.ts',
  'dispatcher/machine.ts',
]);
const isProvider = (path: string) => roomOf(path).startsWith('store/');
const machine = (path: string) => machineFiles.has(path) || isProvider(path);
const config = (path: string) => path.startsWith('functions/config/');

/** Globals that the service must receive from its composition, so that tests control them. */
export const bans: readonly Ban[] = [
  { what: 'process.env', pattern: /\bprocess\.env\b|\bprocess\[/, instead: 'a setting', allowed: config },
  { what: 'process.argv', pattern: /\bprocess\.argv\b/, instead: 'a setting', allowed: config },
  { what: 'Date.now', pattern: /\bDate\.now\b/, instead: 'world.clock', allowed: machine },
  { what: 'new Date()', pattern: /\bnew Date\(\s*\)/, instead: 'world.clock', allowed: machine },
  { what: 'performance.now', pattern: /\bperformance\.now\b/, instead: 'world.clock', allowed: machine },
  { what: 'Math.random', pattern: /\bMath\.random\b/, instead: 'world.random', allowed: machine },
  {
    what: 'randomness of node:crypto',
    pattern: /\b(randomBytes|randomUUID|randomInt|randomFill|getRandomValues)\b/,
    instead: 'world.random',
    allowed: machine,
  },
  { what: 'setTimeout', pattern: /(?<![.\w])setTimeout\s*\(/, instead: 'world.timers', allowed: machine },
  { what: 'setInterval', pattern: /(?<![.\w])setInterval\s*\(/, instead: 'world.timers', allowed: machine },
  { what: 'fetch', pattern: /(?<![.\w])fetch\s*\(/, instead: 'world.http', allowed: machine },
];

/**
 * A sender chooses the size of its pieces, and a list keeps an object for each piece. So streams of bytes are gathered by
 * `gatherBytes` or `ByteBlocks` of `functions/kernel/byte-blocks.ts`, and in the clients by their own buffer.
 */
export function gatheringFaults(path: string, text: string): string[] {
  const listed = /for await \(const (chunk|piece|bytes|part)\b[^]*?\n?[^}]*?\.push\(\1\b/.exec(
    withoutComments(text),
  );
  return listed === null ? [] : [`${path} gathers a stream in a list; use ByteBlocks`];
}

const copiedHead =
  /(?<!\bhead: \{ )\.\.\.\(?(?:\w+\.)*head\b(?! \} =)|\bObject\.\w+\([^()]*\bhead\b|\bcollection: key\.collection[^}]*[{,] head(?:,| \}|: (?:\w+\.)*head\b)/;

/**
 * The head of a stored record also holds the counted bytes of the record. Code that copies a head into an answer or an archive uses
 * `uncounted(head)`; a copy that is written into a record is counted again.
 */
export function headFaults(path: string, text: string): string[] {
  const isStore = /^functions\/(store|quotas)\//.test(path) || !text.includes("/store/port.ts'");
  const copy = isStore ? null : copiedHead.exec(withoutComments(text));
  return copy === null ? [] : [`${path} copies a head: ${copy[0]}`];
}

/**
 * A test takes its random values from a seed (`test/support/effort.ts`), so that each run tries the same. An id that only has to be
 * new, such as that of a tenant, may be random.
 */
export function chanceFaults(path: string, text: string): string[] {
  const drawn = /\bMath\.random\b|\brandomInt\b/.exec(withoutComments(text));
  return drawn === null ? [] : [`${path} draws by ${drawn[0]}; use Random with seedOf`];
}

export function banFaults(path: string, text: string): string[] {
  const code = withoutComments(text);
  return bans
    .filter((ban) => !ban.allowed(path) && ban.pattern.test(code))
    .map(({ what, instead }) => `${path} uses ${what}; use ${instead}`);
}

/** Groups and fields of single operations. `http` must not distinguish requests by them: the contract describes the operations. */
export function namedFaults(path: string, text: string, names: readonly string[]): string[] {
  if (roomOf(path) !== 'http') return [];
  const words = new Set(withoutComments(text).match(/[A-Za-z]+(?:-[a-z]+)*/g) ?? []);
  return names.filter((name) => words.has(name)).map((name) => `${path} names ${name}`);
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

// Skips comments and quoted strings, so that a slash in them has no effect. A slash starts a regular expression only in
// the place of a value: elsewhere it divides.
const token =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=(?:[(,=:[!&|?{;>]|\breturn|^)\s*)\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-z]*)/gm;

/** The regular expressions that a file writes as literals. */
export function patternsOf(text: string): Pattern[] {
  return [...text.matchAll(token)].flatMap(([, source, flags = '']) =>
    source === undefined ? [] : [{ source, flags }],
  );
}
