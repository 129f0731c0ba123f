import type { ExecutionExternalWorkerLease, ExecutionWaitResult } from '../../contracts/generated/models.ts';
import type { ExecutionOutcome } from './execution-calls.ts';
import { EVENT_NAMES, ExecutionUser, type ExecutionWorkload } from './execution-clients.ts';
import { EXTERNAL } from './execution-instance.ts';
import { must } from './violation.ts';

type Fate = 'goes on' | 'dies' | 'lost';

interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** An external worker. Several may have one id, as when one that was thought dead comes back. */
export class SimulatedWorker extends ExecutionUser {
  readonly workerId: string;
  /** Leases that it should have forgotten. */
  readonly #old: Proof[] = [];
  stopped = false;
  #waitsMade = 0;

  readonly #patient: boolean;

  constructor(name: string, workerId: string, work: ExecutionWorkload, patient = false) {
    super(name, work);
    this.workerId = workerId;
    this.#patient = patient;
  }

  async run(turns: number): Promise<void> {
    for (let turn = 0; turn < turns && !this.stopped; turn++) {
      const lease = await this.#lease();
      if (lease !== null) await this.execute(lease);
      if (this.work.random.chance(0.2)) await this.#haunt();
      await this.pause(8);
    }
  }

  /** Leases a run by a poll, by a waiting call, or by the run id of a message, however old. */
  async #lease(): Promise<ExecutionExternalWorkerLease | null> {
    const { random, cluster } = this.work;
    const { messages } = cluster;
    const ttlSeconds = random.chance(0.3) ? 1 + random.below(6) : 20 + random.below(40);
    const body = { workerId: this.workerId, handlerIds: [...EXTERNAL], ttlSeconds };
    const way = this.#patient ? 2 : random.below(cluster.shape.local ? 3 : 2);
    let outcome: ExecutionOutcome<'leaseExternalExecutionRun'>;
    if (way === 0 && messages.length > 0) {
      const at = random.below(messages.length);
      const runId = messages[at]?.runId;
      if (random.chance(0.8)) messages.splice(at, 1);
      outcome = await this.send('leaseExternalExecutionRun', { body: { ...body, runId } });
    } else {
      const waits = way === 2 ? { waitSeconds: 1 + random.below(3) } : {};
      outcome = await this.send('leaseExternalExecutionRun', { body: { ...body, ...waits } });
    }
    return outcome.kind === 'answer' ? outcome.body : null;
  }

  /** Does what the run asks for, unless it dies on the way or hears that the run is no longer its own. */
  async execute(lease: ExecutionExternalWorkerLease): Promise<void> {
    const { random } = this.work;
    const proof = { leaseKey: lease.leaseKey, leaseToken: lease.leaseToken, workerId: this.workerId };
    this.#old.push(proof);
    const { deed } = lease.run.payload as { readonly deed: string };
    for (let steps = random.below(4); steps > 0; steps--) {
      if ((await this.#step(proof)) !== 'goes on') return;
    }
    if (deed === 'poison' && random.chance(0.7)) return;
    // A client cancels at the worst moment.
    if (random.chance(0.08)) await this.send('cancelExecutionRun', { params: { runId: lease.run.id } });
    if (deed.startsWith('wait')) {
      const waited = await this.#waits(proof, deed);
      if (waited !== 'goes on') return;
    }
    await this.#complete(proof, deed);
  }

  async #step(proof: Proof): Promise<Fate> {
    const { random, cluster } = this.work;
    if (random.chance(cluster.faults.workerDies)) return 'dies';
    await this.#stall();
    const kind = random.below(5);
    if (kind === 0)
      return this.#tell('heartbeatExternalExecutionLease', { ...proof, ttlSeconds: 1 + random.below(30) });
    if (kind === 1) {
      const update = { currentStep: `step ${random.below(9)}`, attempted: random.below(9) };
      return this.#tell('reportExternalExecutionLease', { ...proof, update });
    }
    if (kind === 2) {
      const checkpoint = { key: 'c', content: { n: random.below(100) } };
      return this.#tell('putExternalExecutionLeaseCheckpoint', { ...proof, checkpoint });
    }
    if (kind === 3)
      return this.#tell('recordExternalExecutionLeaseEvent', { ...proof, type: 'log', message: 'm' });
    return this.#tell('getExternalExecutionLeaseCheckpoint', { ...proof, key: 'c' });
  }

  async #tell(operation: Telling, body: object): Promise<Fate> {
    const outcome = await this.persist(operation, { body });
    if (outcome.kind !== 'refused') return 'goes on';
    return outcome.error.code === 'not_found' ? 'goes on' : 'lost';
  }

  async #stall(): Promise<void> {
    const { random, cluster } = this.work;
    await this.pause(random.chance(cluster.faults.workerStalls) ? 400 : 5);
  }

  async #waits(proof: Proof, deed: string): Promise<Fate> {
    const { random, cluster } = this.work;
    const soon = new Date(
      cluster.now(random.pick(cluster.shape.instances)) + random.below(80) * 50,
    ).toISOString();
    if (deed !== 'wait timer') {
      const timeout = random.chance(0.5) ? { timeoutAtUtc: soon } : {};
      const fate = await this.#wait({ ...proof, kind: 'external_event', name: EVENT_NAMES[0], ...timeout });
      if (fate !== 'goes on' || deed === 'wait event') return fate;
    }
    return this.#wait({ ...proof, kind: 'timer', name: 'nap', fireAtUtc: soon });
  }

  async #wait(body: Proof & WaitBody): Promise<Fate> {
    const { random, cluster } = this.work;
    if (random.chance(cluster.faults.workerDies)) return 'dies';
    this.#waitsMade += 1;
    const named = { ...body, waitId: `w${this.#waitsMade}` };
    const outcome = await this.persist('waitExternalExecutionLease', { body: named });
    if (outcome.kind === 'refused') return 'lost';
    if (outcome.kind !== 'answer') return 'dies';
    const { suspended, outcome: result } = outcome.body;
    must(suspended === (result === null), 'answer', 'a wait is over and is not');
    if (result !== null) checkOutcome(body, result);
    return suspended ? 'dies' : 'goes on';
  }

  async #complete(proof: Proof, deed: string): Promise<void> {
    const { random, cluster } = this.work;
    if (random.chance(cluster.faults.workerDies)) return;
    await this.#stall();
    // An orderly stop in the middle of a run.
    if (random.chance(0.05)) {
      await this.persist('releaseExternalExecutionLease', { body: proof });
      return;
    }
    const result = resultOf(deed, random.below(100));
    const outcome = await this.persist('completeExternalExecutionLease', { body: { ...proof, result } });
    if (outcome.kind !== 'answer' || !random.chance(0.3)) return;
    // A worker that lost count completes again, perhaps with another result: the first accepted completion counts.
    const other = { ...result, error: 'again' };
    await this.send('completeExternalExecutionLease', { body: { ...proof, result: other } });
  }

  /** Makes a call about a run that it leased long ago. */
  async #haunt(): Promise<void> {
    const { random } = this.work;
    if (this.#old.length === 0) return;
    const proof = random.pick(this.#old);
    const kind = random.below(3);
    const result = { status: 'succeeded', result: { by: 'a ghost' } };
    if (kind === 0) await this.send('completeExternalExecutionLease', { body: { ...proof, result } });
    else if (kind === 1)
      await this.send('heartbeatExternalExecutionLease', { body: { ...proof, ttlSeconds: 2 } });
    else
      await this.send('reportExternalExecutionLease', { body: { ...proof, update: { currentStep: 'boo' } } });
  }
}

interface WaitBody {
  readonly kind: string;
  readonly name: string;
  readonly fireAtUtc?: string;
  readonly timeoutAtUtc?: string;
}

type Telling =
  | 'heartbeatExternalExecutionLease'
  | 'reportExternalExecutionLease'
  | 'recordExternalExecutionLeaseEvent'
  | 'putExternalExecutionLeaseCheckpoint'
  | 'getExternalExecutionLeaseCheckpoint';

function resultOf(deed: string, n: number) {
  switch (deed) {
    case 'fail':
    case 'poison':
      return { status: 'failed', failureClass: 'transient', error: 'failed' };
    case 'invalid':
      return { status: 'failed', failureClass: 'validation', error: 'invalid' };
    case 'time out':
      return { status: 'timed_out', failureClass: 'timeout', error: 'late' };
    default:
      return { status: 'succeeded', result: { n } };
  }
}

function checkOutcome({ kind, name }: { kind: string; name: string }, result: ExecutionWaitResult): void {
  must(result.name === name, 'answer', `a wait for ${name} was answered with ${result.name}`);
  const fits =
    kind === 'timer' ? result.timer !== null : result.outcome === 'timed_out' || result.event !== null;
  must(fits, 'answer', `a wait for ${kind} ended with ${result.outcome}`);
}
