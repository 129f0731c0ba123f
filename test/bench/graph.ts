import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { spaceCollections } from '../../functions/collections/store-collections.ts';
import { upkeepCollections } from '../../functions/collections/upkeep-collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { importGraph } from '../../functions/graph/import-graph.ts';
import { ListedGraph, walkLists } from '../../functions/graph/rules/graph-lists.ts';
import { readProfile } from '../../functions/graph/rules/profile.ts';
import { readEnvelope } from '../../functions/graph/rules/read-envelope.ts';
import { traverse } from '../../functions/graph/rules/traverse.ts';
import { traverseExport, traverseIndexes } from '../../functions/graph/traverse-graph.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { finish } from '../support/finish.ts';
import { installPeer } from './install-peer.ts';
import { round } from './load.ts';

const GRAPHOLOGY = { name: 'graphology', version: '0.26.0' };
const LIMITS = { readsPerCallMax: 200_000, pageRecordsMax: 10_000, answerBytesMax: 64 * 1024 * 1024 };
const VISITED = 200;

/** A graph of as many records as an import takes; each node has three edges to others at random. */
function graphOf(nodeCount: number) {
  let state = 1;
  const draw = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state % nodeCount;
  };
  const nodes = Array.from({ length: nodeCount }, (_, at) => ({
    id: `n${at}`,
    type: 'thing',
    label: `Thing ${at}`,
  }));
  const edges = Array.from({ length: 3 * nodeCount }, (_, at) => ({
    id: `e${at}`,
    sourceId: `n${at % nodeCount}`,
    targetId: `n${draw()}`,
    predicate: 'knows',
  }));
  return { nodes, edges };
}

/** Nodes that walks visit in a second: by the indexes of a collection on SQLite, over an export, and in memory. */
export async function benchGraph(isQuick: boolean): Promise<object> {
  const nodeCount = isQuick ? 200 : 2_400;
  const walks = isQuick ? 3 : 30;
  const graph = graphOf(nodeCount);
  const profile = readProfile({
    maxDepth: 9,
    limit: VISITED,
    edgeLimit: 10_000,
    includePathExplanations: false,
  });
  const starts = Array.from({ length: walks }, (_, at) => `n${(at * 17) % nodeCount}`);
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-graph-'));
  const collections = [...spaceCollections, ...upkeepCollections];
  const store = await openSqliteStore({ path: join(folder, 'graph.sqlite'), ...machine, collections });
  try {
    const parts = createRecordParts({ store: () => Promise.resolve(store), world: machine, limits: LIMITS });
    const envelope = finish(readEnvelope(graph));
    const began = performance.now();
    await importGraph(parts, {
      runId: randomUUID(),
      space: 'bench',
      collection: 'graph',
      request: () =>
        Promise.resolve({
          envelope,
          createCollectionIfMissing: true,
          replaceExisting: false,
          allowNonGraphPolicy: false,
          continueOnError: false,
        }),
      signal: new AbortController().signal,
      decide: () => Promise.resolve(),
      progress: () => Promise.resolve(),
      judgeReplacement: () => undefined,
    });
    const imported = performance.now() - began;
    const request = (start: string) => ({
      startNodeIds: [start],
      profile,
      maxRecords: 10_000,
      partitionKey: 'graph:default',
    });
    const listed = new ListedGraph(envelope);
    return {
      bench: 'graph',
      measures: {
        visitedNodesPerSecond: `walks of ${VISITED} nodes with all their edges, one after the other`,
      },
      nodes: nodeCount,
      edges: graph.edges.length,
      importedRecordsPerSecond: round((1_000 * 4 * nodeCount) / imported),
      visitedNodesPerSecond: {
        indexes: await rate(starts, async (start) => {
          const found = await traverseIndexes(parts, 'bench', 'graph', request(start));
          return found?.traversed.nodes.length ?? 0;
        }),
        export: await rate(starts.slice(0, 3), async (start) => {
          const found = await traverseExport(parts, 'bench', 'graph', request(start));
          return found.traversed.nodes.length;
        }),
        memory: await rate(starts, (start) =>
          Promise.resolve(finish(walkLists(traverse([start], profile), listed)).nodes.length),
        ),
        graphology: await graphologyRate(graph, starts),
      },
    };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function rate(starts: readonly string[], walk: (start: string) => Promise<number>): Promise<number> {
  let visited = 0;
  const began = performance.now();
  for (const start of starts) visited += await walk(start);
  return round((1_000 * visited) / (performance.now() - began));
}

interface Graphology {
  addNode(id: string): void;
  addDirectedEdgeWithKey(id: string, source: string, target: string): void;
  forEachEdge(
    node: string,
    callback: (id: string, facts: object, source: string, target: string) => void,
  ): void;
}

/** The same breadth-first walk over a graph of graphology; in words why not, where it could not be installed. */
async function graphologyRate(
  { nodes, edges }: ReturnType<typeof graphOf>,
  starts: readonly string[],
): Promise<number | string> {
  const folder = resolve('dist/bench-peers', GRAPHOLOGY.name);
  const failure = await installPeer(folder, GRAPHOLOGY);
  if (failure !== null) return `not installed: ${failure}`;
  const { MultiDirectedGraph } = createRequire(join(folder, 'package.json'))(GRAPHOLOGY.name) as {
    readonly MultiDirectedGraph: new () => Graphology;
  };
  const graph = new MultiDirectedGraph();
  for (const { id } of nodes) graph.addNode(id);
  for (const { id, sourceId, targetId } of edges) graph.addDirectedEdgeWithKey(id, sourceId, targetId);
  return rate(starts, (start) => {
    const met = new Set([start]);
    const found = new Set<string>();
    for (const id of met)
      graph.forEachEdge(id, (edge, _, source, target) => {
        const far = source === id ? target : source;
        if (!met.has(far) && met.size >= VISITED) return;
        met.add(far);
        found.add(edge);
      });
    return Promise.resolve(met.size);
  });
}
