import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { kindOf, SearchTexts, SearchVectors } from './search-data.ts';
import { measureSearcher, measureWords, type Searcher, type SearchTask, SHAPE, TOP } from './search-task.ts';

const BATCH = 100;

/** The versions that are compared, and what was measured of each before, for a machine that cannot install it. */
export const PEERS = {
  'sqlite-vec': { name: 'sqlite-vec', version: '0.1.9', recorded: 'exact 62/118 ms, 1 % filter 38/100 ms' },
  lancedb: {
    name: '@lancedb/lancedb',
    version: '0.39.0',
    recorded: '4,379 upserts/s without text, exact 47/71 ms, 1 % filter 43/67 ms',
  },
  orama: { name: '@orama/orama', version: '3.1.18', recorded: 'lexical 17-20 ms, in memory' },
  minisearch: {
    name: 'minisearch',
    version: '7.2.0',
    recorded: '2,238 upserts/s in memory, lexical 8 ms, in memory',
  },
} as const;
export type Peer = keyof typeof PEERS;

interface Row {
  readonly id: number;
  readonly kind: string;
  readonly text: string;
  readonly vector: number[];
}

/** Writes rows by batches, outside of whose time the rows are made. */
async function load(count: number, withText: boolean, write: (rows: readonly Row[]) => Promise<void>) {
  const vectors = new SearchVectors(SHAPE);
  const texts = new SearchTexts();
  let took = 0;
  for (let from = 0; from < count; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => {
      const id = from + n;
      const text = withText ? texts.of(id) : '';
      return { id, kind: kindOf(id), text, vector: Array.from(vectors.of(id)) };
    });
    const began = performance.now();
    await write(rows);
    took += performance.now() - began;
  }
  return { upsertsPerSecond: Math.round((1000 * count) / took) };
}

/** The package, from the folder that the benchmark installed it to. */
function packageOf<Module>(task: SearchTask, peer: Peer): Module {
  return createRequire(join(task.peers, 'package.json'))(PEERS[peer].name) as Module;
}

export const measurePeer: Readonly<Record<Peer, (task: SearchTask) => Promise<object>>> = {
  'sqlite-vec': measureSqliteVec,
  lancedb: measureLance,
  orama: measureOrama,
  minisearch: measureMiniSearch,
};

/** Exact by its nature: a scan of all vectors. It has no search for words. */
async function measureSqliteVec(task: SearchTask): Promise<object> {
  const { getLoadablePath } = packageOf<{ readonly getLoadablePath: () => string }>(task, 'sqlite-vec');
  const db = new DatabaseSync(join(task.folder, 'vec.sqlite'), { allowExtension: true });
  db.loadExtension(getLoadablePath());
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA mmap_size = 1073741824');
  db.exec(
    `CREATE VIRTUAL TABLE vectors USING vec0 (
      id INTEGER PRIMARY KEY, kind TEXT, embedding FLOAT[${SHAPE.dimensions}] distance_metric=cosine)`,
  );
  const insert = db.prepare('INSERT INTO vectors (id, kind, embedding) VALUES (?, ?, ?)');
  const bytes = (values: Iterable<number>) => new Uint8Array(Float32Array.from(values).buffer);
  const write = await load(task.vectors, false, async (rows) => {
    db.exec('BEGIN');
    for (const { id, kind, vector } of rows) insert.run(BigInt(id), kind, bytes(vector));
    db.exec('COMMIT');
  });
  const all = db.prepare('SELECT id FROM vectors WHERE embedding MATCH ? AND k = ?');
  const some = db.prepare('SELECT id FROM vectors WHERE embedding MATCH ? AND k = ? AND kind = ?');
  const searches = await measureSearcher(task, {
    async nearest(vector, kind) {
      const rows = kind === null ? all.all(bytes(vector), TOP) : some.all(bytes(vector), TOP, kind);
      return rows.map(({ id }) => Number(id));
    },
  });
  db.close();
  return { write: { ...write, text: false, durable: true }, ...searches };
}

interface LanceTable {
  add(rows: readonly Row[]): Promise<unknown>;
  optimize(): Promise<unknown>;
  createIndex(column: string, options: object): Promise<void>;
  query(): LanceQuery;
}
interface LanceQuery {
  nearestTo(vector: number[]): LanceQuery;
  fullTextSearch(words: string): LanceQuery;
  distanceType(type: string): LanceQuery;
  select(columns: readonly string[]): LanceQuery;
  where(condition: string): LanceQuery;
  limit(limit: number): LanceQuery;
  toArray(): Promise<readonly { readonly id: unknown }[]>;
}
interface Lance {
  readonly connect: (path: string) => Promise<{
    createTable(name: string, rows: readonly Row[]): Promise<LanceTable>;
  }>;
  readonly Index: { fts(): object; bitmap(): object };
}

/** Without an index of vectors, so that it is exact; with one of kinds and one of words, and compacted. */
async function measureLance(task: SearchTask): Promise<object> {
  const { connect, Index } = packageOf<Lance>(task, 'lancedb');
  const database = await connect(join(task.folder, 'lance'));
  let table: LanceTable | undefined;
  const write = await load(task.vectors, true, async (rows) => {
    if (table === undefined) table = await database.createTable('records', rows);
    else await table.add(rows);
  });
  const records = table!;
  await records.optimize();
  await records.createIndex('kind', { config: Index.bitmap() });
  await records.createIndex('text', { config: Index.fts() });
  const idsOf = async (query: LanceQuery) => (await query.limit(TOP).toArray()).map(({ id }) => Number(id));
  const searches = await measureSearcher(task, {
    async nearest(vector, kind) {
      const query = records.query().nearestTo(Array.from(vector)).distanceType('cosine').select(['id']);
      return idsOf(kind === null ? query : query.where(`kind = '${kind}'`));
    },
    lexical: async (words) => (await idsOf(records.query().fullTextSearch(words).select(['id']))).length,
  });
  return { write: { ...write, text: true, durable: true, indexes: 'built afterwards' }, ...searches };
}

interface Orama {
  readonly create: (options: object) => object;
  readonly insertMultiple: (database: object, rows: readonly object[], batch: number) => Promise<unknown>;
  readonly search: (
    database: object,
    request: object,
  ) => Promise<{ readonly hits: readonly { readonly id: string }[] }>;
}

/** In memory. Its words also match longer ones that begin with them. */
async function measureOrama(task: SearchTask): Promise<object> {
  const { create, insertMultiple, search } = packageOf<Orama>(task, 'orama');
  const database = create({
    schema: { kind: 'enum', text: 'string', vector: `vector[${SHAPE.dimensions}]` },
  });
  const write = await load(task.vectors, true, async (rows) => {
    await insertMultiple(
      database,
      rows.map((row) => ({ ...row, id: String(row.id) })),
      BATCH,
    );
  });
  const idsOf = async (request: object) => {
    const { hits } = await search(database, { ...request, limit: TOP, includeVectors: false });
    return hits.map(({ id }) => Number(id));
  };
  const searches = await measureSearcher(task, {
    nearest: (vector, kind) =>
      idsOf({
        mode: 'vector',
        vector: { value: Array.from(vector), property: 'vector' },
        similarity: -1,
        ...(kind === null ? {} : { where: { kind: { eq: kind } } }),
      }),
    lexical: async (words) => (await idsOf({ term: words, properties: ['text'] })).length,
  });
  return { write: { ...write, text: true, durable: false }, ...searches };
}

interface MiniSearch {
  addAll(rows: readonly Row[]): void;
  search(words: string): readonly { readonly id: number }[];
}

/** MiniSearch works in memory, for words alone. */
async function measureMiniSearch(task: SearchTask): Promise<object> {
  const Index = packageOf<new (options: object) => MiniSearch>(task, 'minisearch');
  const index = new Index({ fields: ['text'], storeFields: [], searchOptions: { combineWith: 'OR' } });
  const write = await load(task.vectors, true, async (rows) => index.addAll(rows));
  const lexical: Searcher['lexical'] = async (words) => index.search(words).slice(0, TOP).length;
  return { write: { ...write, text: true, durable: false }, ...(await measureWords(task, lexical)) };
}
