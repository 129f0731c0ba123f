import { globSync } from 'node:fs';

/** The files that one mutation run changes, and the tests that judge it: quick ones without an emulator, a child process or a server. */
export interface Room {
  readonly files: readonly string[];
  readonly tests: readonly string[];
  /** How many cases a search draws, where its tests also plant faults that take many. */
  readonly draws?: number;
}

/** A folder of rules that the tests beside them judge. */
const rulesOf = (room: string, ...files: readonly string[]): Room => ({
  files: [`functions/${room}/rules/**/*.ts`, ...files.map((file) => `functions/${room}/${file}`)],
  tests: [`functions/${room}/**/*.test.ts`],
});

/** Small rooms first: `npm run quality` measures them in this order. */
export const rooms: Readonly<Record<string, Room>> = {
  jobs: {
    files: ['functions/jobs/{admit-job,job-family,job-plugin,job-view,ordered-content}.ts'],
    tests: ['functions/jobs/*.test.ts'],
  },
  traces: rulesOf('traces', '{store-collections,stored-trace}.ts'),
  objects: {
    ...rulesOf('objects', '{growing-bytes,leftovers,object-memory,stored-object}.ts'),
    draws: 200,
  },
  embeddings: {
    files: [
      'functions/embeddings/{rules,jobs}/*.ts',
      'functions/embeddings/{guarded-embedder,store-collections}.ts',
    ],
    tests: [
      'functions/embeddings/{rules,jobs}/*.test.ts',
      'functions/embeddings/{built-in,embed-texts,embedding-model,guarded-embedder}.test.ts',
    ],
  },
  'runs-rules': {
    files: ['functions/runs/rules/*.ts'],
    tests: ['functions/runs/rules/*.test.ts'],
    draws: 200,
  },
  'store-plans': {
    files: ['functions/store/*.ts', '!functions/store/similarity.ts'],
    tests: ['functions/store/*.test.ts', 'test/conformance/{store,canonical}.test.ts'],
  },
  similarity: {
    files: ['functions/store/similarity.ts', 'functions/store/nearest/*.ts'],
    tests: ['functions/store/similarity.test.ts', 'functions/store/nearest/*.test.ts'],
  },
  graph: { ...rulesOf('graph', '{graph-query,read-examination}.ts'), draws: 300 },
  retrieval: { ...rulesOf('retrieval', 'parts.ts', 'evaluation/case-fault.ts'), draws: 2_000 },
  kernel: { files: ['functions/kernel/*.ts'], tests: ['functions/kernel/*.test.ts'] },
  identity: {
    files: ['functions/identity/**/*.ts'],
    tests: ['functions/identity/**/*.test.ts', 'test/security/{tokens,token-claims}.test.ts'],
  },
  'collections-rules': {
    files: ['functions/collections/rules/**/*.ts'],
    tests: ['functions/collections/rules/**/*.test.ts'],
  },
  'collections-search': {
    files: ['functions/collections/search/*.ts'],
    tests: ['functions/collections/search/*.test.ts'],
  },
  'collections-rest': {
    files: [
      'functions/collections/copies/{archive-lines,archive-manifest,copy-options,entry-checks,line-reader}.ts',
      'functions/collections/{cursor-memory,entry-range,incarnation-cache,page-request,read-budget,read-call}.ts',
      'functions/collections/{search-among,search-limit,search-request,store-collections,stored-collection}.ts',
      'functions/collections/{stored-content,upkeep-collections,write-weight}.ts',
      'functions/archives/{canonical-value,checks,chunk-list,copy-refusal,snapshot-error,stored-record}.ts',
    ],
    tests: ['functions/collections/*.test.ts', 'test/conformance/records.test.ts'],
  },
  rag: rulesOf('rag', 'plan-writes.ts'),
  providers: {
    files: [
      'functions/providers/rules/*.ts',
      'functions/providers/{failure,guard-record,refusal}.ts',
      'functions/providers/{live/answer-members,outgoing/embedded-ipv4}.ts',
    ],
    tests: ['functions/providers/rules/*.test.ts'],
  },
  mcp: {
    files: ['functions/mcp/**/*.ts'],
    tests: [
      'functions/mcp/**/*.test.ts',
      'test/mcp/{definitions,envelope,headers,lists,older-answers,older-requests,tasks,tools}.test.ts',
    ],
  },
  http: {
    files: [
      'functions/http/{answer,body-time,byte-allowance,byte-answer,bytes-in-flight,connection-line,correlation,cors}.ts',
      'functions/http/{class-line,faulty-items,fixed-document,foreign-origin,headers,list-headers,message,multipart-head}.ts',
      'functions/http/{operation-input,overload-log,parameter-refusal,parameters,path,path-values,problem,router,schema-faults,trace-context}.ts',
    ],
    tests: [
      'functions/http/{body-time,byte-allowance,byte-answer,bytes-in-flight,chain,cors,fixed-document,foreign-origin}.test.ts',
      'functions/http/{in-process,multipart,parameters,path,path-refusals,problem,request-line,router,schema-refusal,trace-context}.test.ts',
    ],
  },
  canonical: {
    files: [
      'functions/groups/canonical/{bounded-text,records}.ts',
      'functions/groups/canonical/commit/{commit,commit-request,fence,fence-request,mutation-request,receipt}.ts',
      'functions/groups/canonical/document/{document,index-text,revision}.ts',
      'functions/groups/canonical/migration/{migration,migration-request}.ts',
      'functions/groups/canonical/outbox/{outbox-event,outbox-log,outbox-request,outbox-rules}.ts',
      'functions/groups/canonical/preflight/preflight.ts',
      'functions/groups/canonical/copies/snapshot/{canonical-text,cross-check,key-table,manifest}.ts',
      'functions/groups/canonical/copies/snapshot/{record-values,values}.ts',
    ],
    tests: [
      'functions/groups/canonical/{commit,copies/snapshot,document,migration,outbox}/*.test.ts',
      'test/conformance/{store,canonical}.test.ts',
    ],
    draws: 3_000,
  },
  'runs-rest': {
    files: [
      'functions/runs/{active-runs,admission,cancellation,child-end,child-link,concurrency-key}.ts',
      'functions/runs/{first-checkpoints,handler-registry,held,lossless-json}.ts',
      'functions/runs/{notices,outage-log,outcome,plugin,product-policy,recent-scopes,records,run,run-job,run-model}.ts',
      'functions/runs/{slot-shares,text-checks,trace,values,worker-handlers}.ts',
      'functions/runs/copies/{archive-lines,archive-manifest,line-reader,restore-options}.ts',
      'functions/runs/maintenance/belongings.ts',
      'functions/groups/execution/{library/wait-owners,write-name}.ts',
    ],
    tests: [
      'functions/groups/execution/library/*.test.ts',
      'functions/runs/*.test.ts',
      'functions/runs/maintenance/*.test.ts',
      'test/simulation/children-interleavings.test.ts',
    ],
  },
};

/** Pure files that no room has, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  'functions/store/{firestore,mysql,postgres,sqlite}/*.ts':
    'they write the statements of one database, and only that database judges them: the conformance suite',
  'functions/{blobs,queue}/**/*.ts':
    'they speak for one provider: its conformance suite judges them, with files, ports and an emulator',
  'functions/compose/*.ts': 'they connect parts: tests of whole services judge them',
  'functions/config/**/*.ts':
    'they are a table of settings with its checks, and a test reads each entry against the reference',
  'functions/groups/{artifacts,collections,embeddings,graph,providers,rag,retrieval}/**/*.ts':
    'they lay out answers of operations: the tests of the wire judge them, which are slow',
  'functions/groups/server/docs/*.ts': 'they make pages for readers',
};

export const isMutable = (path: string) => !/\.(test|fixture|d)\.ts$|\/generated\//.test(path);

/** The files that the patterns find; a pattern after `!` takes files away. */
export function filesOf(patterns: readonly string[], cwd: string): string[] {
  const without = patterns.filter((each) => each.startsWith('!')).map((each) => each.slice(1));
  return globSync(
    patterns.filter((each) => !each.startsWith('!')),
    { cwd, exclude: without },
  )
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
}
