import { canonical, execution, executionCloud, type Usage } from './measured.ts';

/** A month of work, as the caller of the calculator describes it. All members are numbers of a month where not said otherwise. */
export interface Workload {
  readonly commits: number;
  readonly documentsPerCommit: number;
  readonly eventsPerCommit: number;
  readonly fencesPerCommit: number;
  readonly reads: number;
  readonly queries: number;
  readonly documentsPerQuery: number;
  readonly runs: number;
  readonly worker: 'hosted' | 'external';
  readonly retriesPerRun: number;
  readonly checkpointsPerRun: number;
  readonly traceEventsPerRun: number;
  readonly artifactsPerRun: number;
  readonly timersPerRun: number;
  readonly waitsPerRun: number;
  readonly heartbeatsPerRun: number;
  /** Time that the hosted worker spends in the handler of one run. */
  readonly runSeconds: number;
  /** Workers and dispatchers that always have one waiting lease call open. */
  readonly waitingCallers: number;
  readonly storageGiB: number;
  readonly objectsGiB: number;
}

/** A kind of operation in that month: how often, and what each uses. */
export interface Line {
  readonly name: string;
  readonly count: number;
  readonly each: Usage;
  /** Seconds of a function beside those that calls of the database take, for each. */
  readonly extraSeconds?: number;
}

export const monthSeconds = 30 * 86_400;
/** A call that waits 20 seconds looks at once and after 1, 3, 7 and 15. */
const waitedSeconds = 20;
const looksOfWait = 5;
const leasedAtOnce = 10;

export function linesOf(load: Workload): Line[] {
  const all = [...storeLines(load), ...runLines(load), ...standingLines(load)];
  return all.filter(({ count }) => count > 0);
}

/**
 * A commit reads the receipt and the place of the tenant, and writes the receipt. `measured.test.ts` proves the sum.
 * @testonly
 */
export function commitUsage(parts: {
  updates: number;
  creates: number;
  events: number;
  fences: number;
}): Usage {
  const { updates, creates, events, fences } = parts;
  const base = canonical['commit: 100 creates'];
  return {
    ...base,
    reads: base.reads + updates + fences,
    writes: base.writes - 100 + updates + creates + events + fences,
  };
}

function storeLines(load: Workload): Line[] {
  const events = load.commits * load.eventsPerCommit;
  const query = canonical['query: one equality, 20 documents'];
  const parts = {
    updates: load.documentsPerCommit,
    creates: 0,
    events: load.eventsPerCommit,
    fences: load.fencesPerCommit,
  };
  return [
    { name: 'commits', count: load.commits, each: commitUsage(parts) },
    { name: 'document reads', count: load.reads, each: canonical['document read'] },
    {
      name: 'queries',
      count: load.queries,
      each: { ...query, reads: query.reads - 20 + load.documentsPerQuery },
    },
    {
      name: 'event leases, ten at once',
      count: events / leasedAtOnce,
      each: canonical['lease of 10 events'],
    },
    {
      name: 'event acknowledgements',
      count: events,
      each: canonical['acknowledge, renew or release one event'],
    },
  ];
}

function runLines(load: Workload): Line[] {
  const { runs } = load;
  const hosted = load.worker === 'hosted';
  const key = difference(
    executionCloud['the same with an idempotency key'],
    executionCloud['run of a handler of the hosted worker'],
  );
  const one = hosted
    ? executionCloud['run of a handler of the hosted worker']
    : executionCloud['run of a worker that the queue calls'];
  const pruned = difference(
    execution['prune of a run with a key, a checkpoint and an artifact'],
    execution['prune when there is nothing to remove'],
  );
  const more = (name: string, perRun: number, each: Usage): Line => ({
    name,
    count: runs * perRun,
    each: inHandler(each, hosted),
  });
  return [
    { name: 'runs with a key', count: runs, each: sum(one, key), extraSeconds: hosted ? load.runSeconds : 0 },
    {
      name: 'retries',
      count: runs * load.retriesPerRun,
      each: executionCloud['more for a retry: failed, due, delivered again'],
    },
    {
      name: 'waits for an event',
      count: runs * load.waitsPerRun,
      each: executionCloud['more for an event: waited for, raised, delivered again, taken'],
    },
    {
      name: 'timers',
      count: runs * load.timersPerRun,
      each: executionCloud['more for a timer: waited for, due, delivered again, taken'],
    },
    more('checkpoints', load.checkpointsPerRun, execution.checkpoint),
    more('trace events', load.traceEventsPerRun, execution['trace event']),
    more('artifacts', load.artifactsPerRun, execution['artifact, kept inline']),
    more('heartbeats', load.heartbeatsPerRun, executionCloud.heartbeat),
    { name: 'runs pruned later', count: runs, each: { ...pruned, requests: 0 } },
  ];
}

/** A hosted handler writes from inside the delivery, without a request of its own. */
function inHandler(each: Usage, hosted: boolean): Usage {
  return hosted ? { ...each, requests: 0 } : each;
}

/** Work that goes on without callers, and callers that wait. */
function standingLines({ waitingCallers, runs }: Workload): Line[] {
  const look = executionCloud['lease when no run is ready: one look of a waiting worker'];
  const wait = { ...look, reads: look.reads * looksOfWait, calls: look.calls * looksOfWait };
  const days = monthSeconds / 86_400;
  const scheduled = runs > 0 ? 1 : 0;
  return [
    {
      name: 'waiting calls without result',
      count: (waitingCallers * monthSeconds) / waitedSeconds,
      each: wait,
      extraSeconds: waitedSeconds,
    },
    {
      name: 'reconcile, each minute',
      count: scheduled * days * 1_440,
      each: execution['reconcile when nothing is lost'],
    },
    {
      name: 'prune, each day',
      count: scheduled * days,
      each: execution['prune when there is nothing to remove'],
    },
  ];
}

function sum(a: Usage, b: Usage): Usage {
  return combined(a, b, 1);
}

function difference(a: Usage, b: Usage): Usage {
  return combined(a, b, -1);
}

function combined(a: Usage, b: Usage, sign: number): Usage {
  return {
    calls: a.calls + sign * b.calls,
    reads: a.reads + sign * b.reads,
    writes: a.writes + sign * b.writes,
    deletes: a.deletes + sign * b.deletes,
    tasks: a.tasks + sign * b.tasks,
    requests: a.requests + sign * b.requests,
  };
}
