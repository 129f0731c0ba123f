import { executionHandlers } from '../../functions/groups/execution/handlers.ts';
import { executableJobs, registerJobs } from '../../functions/jobs/built-in.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import { LocalQueue } from '../../functions/queue/local/local-queue.ts';
import { assembleRuns } from '../../functions/runs/assemble.ts';
import { HandlerRegistry } from '../../functions/runs/handler-registry.ts';
import { EXECUTION_SCOPE } from '../../functions/runs/records.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import type { OperationId } from '../notes/contracts/generated/operations.ts';
import type { NotesHandlers } from '../notes/contracts/handlers.ts';
import { NotesAccess } from '../notes/group/access.ts';
import { notesHandlers } from '../notes/group/handlers.ts';
import { IMPORT_HANDLER, notesJobs } from '../notes/group/jobs.ts';
import { RUN_OPTIONS, TEST_ADAPTER } from '../support/run-options.ts';
import { type Faults, faultyHooks } from './faults.ts';
import type { JobsAudit } from './jobs-audit.ts';
import { type JobsOutcome, type JobsShape, SPACES } from './jobs-calls.ts';
import type { JobsFlaw } from './jobs-flaws.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Process, type Scheduler, TICK_MS } from './scheduler.ts';

const LEASE_MS = 4_000;
const ATTEMPTS_MAX = 6;

type Serve = (input: object, context: object) => Promise<{ readonly body: unknown }>;

interface Member {
  readonly process: Process;
  readonly runtime: Runtime;
  readonly handlers: NotesHandlers;
  readonly execution: ReturnType<typeof executionHandlers>;
}

export interface JobsClusterParts {
  readonly scheduler: Scheduler;
  readonly audit: JobsAudit;
  readonly faults: Faults;
  readonly shape: JobsShape;
  readonly flaw: JobsFlaw | undefined;
  readonly names: readonly string[];
}

/** Instances that serve the fixture group and execute its jobs, over one database. */
export class JobsCluster {
  readonly scheduler: Scheduler;
  readonly database = new MemoryDatabase();
  readonly #parts: JobsClusterParts;
  readonly #members = new Map<string, Member>();
  #started = 0;

  constructor(parts: JobsClusterParts) {
    this.scheduler = parts.scheduler;
    this.#parts = parts;
    for (const name of parts.names) this.#start(name);
  }

  crash(name: string): void {
    const process = this.#members.get(name)?.process;
    if (process?.alive !== true) return;
    this.scheduler.note(`${name} dies`);
    process.kill();
    const restartMs = this.scheduler.random.below(40) * TICK_MS;
    this.scheduler.after(new Process('supervisor'), restartMs, () => this.#start(name), `restart ${name}`);
  }

  /** The runtime of an instance that is up, with a store that has no faults. */
  auditRuntime(): Runtime | undefined {
    const member = [...this.#members.values()].find(({ process }) => process.alive);
    const store = new MemoryStore(this.database);
    return member === undefined ? undefined : { ...member.runtime, store: () => Promise.resolve(store) };
  }

  #start(name: string): void {
    const { scheduler, flaw, shape, audit } = this.#parts;
    const process = new Process(name);
    const world: World = {
      clock: { now: () => scheduler.now },
      random: { bytes: (size) => scheduler.random.bytes(size) },
      turns: new TurnRoom({ now: () => scheduler.now }),
      timers: { after: (delayMs, callback) => scheduler.after(process, delayMs, callback) },
      http: () => Promise.reject(new Error('the instance calls no other service')),
    };
    const store = this.#store(process);
    const grants = Object.entries(SPACES).map(([principal, space]) => {
      return { principal, space, rights: ['note_read', 'note_write'] as const };
    });
    const access = new NotesAccess(grants);
    const openStore = () => Promise.resolve(store);
    const beforeBatch = async () => {
      audit.reached.add('batch');
      await scheduler.park(process, `${name} writes a batch`);
    };
    const plugin = notesJobs({ store: openStore, access, beforeBatch });
    const registry = new (flaw?.registry ?? HandlerRegistry)();
    registerJobs(registry, [plugin], '0.0.0');
    const local = new LocalQueue({ world, recheckMs: 2_000, mayHaveChanged: () => true });
    const { runtime, engine, settle } = assembleRuns({
      store: openStore,
      scope: EXECUTION_SCOPE,
      world,
      node: 1 + this.#started,
      registry,
      policies: [],
      local,
      usesReadyRuns: true,
      blobs: null,
      log: () => undefined,
      options: { ...RUN_OPTIONS, ...shape },
      settlesDueRuns: () => true,
      handlers: executableJobs([plugin], world.clock),
      engine: { workerId: `process-${++this.#started}`, concurrencyMax: 2, leaseMs: LEASE_MS, asks: true },
    });
    const jobs = { runtime, reserve: engine.reserve.bind(engine) };
    const pageTokens = new PageTokens(() => Promise.resolve(Buffer.from('simulated')));
    const handlers = notesHandlers({ store: openStore, access, jobs, plugin, pageTokens });
    const execution = executionHandlers({ ...jobs, access: null, adapter: TEST_ADAPTER, pageTokens });
    this.#members.set(name, { process, runtime, handlers, execution });
    void local.start(settle);
    engine.wake();
  }

  #store(process: Process): RecordStore {
    const { scheduler, faults, flaw, audit } = this.#parts;
    const hooks = faultyHooks(scheduler, process, faults, {
      observed: () => undefined,
      applied: (_scope, changes) => audit.applied(changes),
      replaced: () => undefined,
    });
    const store = new (flaw?.store ?? MemoryStore)(this.database, hooks, ATTEMPTS_MAX);
    return flaw?.wrap?.(store) ?? store;
  }

  /** Sends a request and waits for the outcome that the client sees, which may differ from the effect. */
  call(
    client: Process,
    operation: OperationId,
    input: { readonly params: object; readonly body?: object },
    principal: string,
  ): Promise<JobsOutcome> {
    return this.#request(client, ({ handlers }, context) => {
      const handler = handlers[operation] as unknown as Serve;
      const caller = { kind: 'workload', principal };
      return handler({ query: {}, body: null, ...input }, { ...context, caller });
    });
  }

  async intrude(client: Process, idempotencyKey: string): Promise<void> {
    await this.#request(client, ({ execution }, context) => {
      const body = { handlerId: IMPORT_HANDLER, payload: { notebook: 'x', notes: [] }, idempotencyKey };
      const caller = { kind: 'development' as const, principal: null };
      return execution.startExecutionRun({ params: {}, query: {}, body }, { ...context, caller });
    });
  }

  async #request(
    client: Process,
    serve: (member: Member, context: Context) => Promise<{ readonly body: unknown }>,
  ): Promise<JobsOutcome> {
    const { scheduler, faults, names } = this.#parts;
    const { random } = scheduler;
    await scheduler.park(client, 'request');
    const member = this.#members.get(random.pick(names));
    if (member?.process.alive !== true || random.chance(faults.requestLost)) return { kind: 'unknown' };
    const signal = new AbortController().signal;
    const serving = serve(member, { correlationId: 'c', now: scheduler.now, signal }).then(
      ({ body }) => ({ kind: 'answer', body }) as JobsOutcome,
      refusedOrUnknown,
    );
    const outcome = await new Promise<JobsOutcome>((resolve, reject) => {
      const forget = member.process.onDeath(() => resolve({ kind: 'unknown' }));
      serving.then(resolve, reject).finally(forget);
    });
    await scheduler.park(client, 'answer');
    return random.chance(faults.answerLost) ? { kind: 'unknown' } : outcome;
  }
}

interface Context {
  readonly correlationId: string;
  readonly now: number;
  readonly signal: AbortSignal;
}

function refusedOrUnknown(error: unknown): JobsOutcome {
  if (error instanceof ServiceError) return { kind: 'refused', code: error.code };
  if (error instanceof StoreError) return { kind: 'unknown' };
  throw error;
}
