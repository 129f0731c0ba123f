import { createHash } from 'node:crypto';
import { catalogGroups, collectionsOf } from '../../functions/compose/catalog-groups.ts';
import { compose, type Service } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import type { Collection, RecordStore } from '../../functions/store/port.ts';
import { DyingStore, LIVE } from '../support/dying-store.ts';
import { hurried } from '../support/service.ts';
import type { Answers, ScenarioStep } from './whole-steps.ts';

const SETTINGS = {
  'ExecutionRuntime:LeaseSeconds': '5',
  // A test kills a run once for each of its commits, more often than a run could kill its workers.
  'ExecutionRuntime:MaxLeaseExpirations': '1000',
  'Embeddings:Provider': 'local-token-hash',
  'Embeddings:Dimensions': '32',
  'Server:ValidateResponses': 'true',
  'Server:LogLevel': 'error',
  // One address sends all requests of a scenario whose time hardly moves.
  'Server:CanonicalRateLimit:PermitLimit': '100000',
  'Server:ExecutionRateLimit:PermitLimit': '100000',
  'Server:RecordRateLimit:PermitLimit': '100000',
};
/** The time between the starts of two steps. Each step takes less, also after a kill. */
const STEP_MS = 600_000;
/** The lease of a dead process ends within this time. */
const LEASE_OVER_MS = 10_000;
const START = Date.UTC(2026, 0, 1);
const QUIET_TURNS = 20;
const ENDED = /^(succeeded|failed|cancelled|rejected|timedout|unsupported|notconfigured)$/i;

/** All record collections of the service. */
export const allCollections = (): Promise<readonly Collection[]> => collectionsOf(catalogGroups);

const workerIdOf = (instance: number) => `scenario-${instance}`;

/** The key of a step, whichever process sends it. */
export const keyOf = (index: number): string => `scenario-${index}`;

/** Time stands still within a step, and each execution of a step draws the same random bytes. Instances of one service share it. */
export class StepWorld {
  now = START;
  #step = 0;
  #drawn = 0;

  readonly world: World = {
    ...machine,
    clock: { now: () => this.now },
    turns: new TurnRoom({ now: () => this.now }),
    random: { bytes: (size) => this.#bytes(size) },
    http: () => Promise.reject(new Error('this world has no network')),
  };

  static at(step: number): StepWorld {
    const time = new StepWorld();
    time.begin(step);
    return time;
  }

  begin(step: number): void {
    this.now = START + step * STEP_MS;
    this.#step = step;
    this.#drawn = 0;
  }

  #bytes(size: number): Uint8Array {
    this.#drawn += 1;
    const blocks = Array.from({ length: Math.ceil(size / 32) }, (_, block) =>
      createHash('sha256').update(`${this.#step} ${this.#drawn} ${block}`).digest(),
    );
    return new Uint8Array(Buffer.concat(blocks).subarray(0, size));
  }
}

export interface ProcessOptions {
  /** Holds the bytes of objects. */
  readonly folder: string;
  readonly store: RecordStore;
  /** The step at which the process starts, for a process with a time of its own. */
  readonly step?: number;
  /** Answers that other processes gave. Those of this one are added. */
  readonly answers?: Map<string, unknown>;
  /** Code that waits waits for less: the time of the scenario stands still, so nothing else ends its patience. */
  readonly isHurried?: boolean;
  /** Shared with other processes. Default: a time of its own. */
  readonly time?: StepWorld;
  /** Shared with instances that may execute what this one reads. */
  readonly commits?: Commits;
  /** Which of the instances over one database this is, from 1. */
  readonly instance?: number;
  /** Whether it executes jobs, which is the default, or only admits them. */
  readonly isExecuting?: boolean;
}

/** Reports the commits of all processes that share it. */
export class Commits {
  #next = Promise.withResolvers<void>();

  /** Settles with the next commit. */
  next(): Promise<void> {
    return this.#next.promise;
  }

  made(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }
}

/** A store that counts its calls under way. */
class WatchedStore {
  readonly store: RecordStore;
  #underWay = 0;

  constructor(inner: RecordStore, commits: Commits) {
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => {
          const answer: unknown = Reflect.apply(member, target, given);
          if (!(answer instanceof Promise)) return answer;
          this.#underWay += 1;
          const over = () => {
            this.#underWay -= 1;
            if (name === 'transact' || name === 'claim') commits.made();
          };
          answer.then(over, over);
          return answer;
        };
      },
    });
  }

  /** Settles when all work after the answers has ended, such as the last commits of a run. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#underWay > 0) turns = -1;
    }
  }
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A process of the whole service over a store. Its time moves from step to step. */
export class ScenarioProcess {
  readonly answers: Map<string, unknown>;
  readonly #time: StepWorld;
  readonly #commits: Commits;
  readonly #dying: DyingStore;
  readonly #watched: WatchedStore;
  readonly #service: Service;
  #chain: Chain | null = null;

  constructor({ folder, store, step = 0, answers = new Map(), isHurried = false, ...more }: ProcessOptions) {
    const { time = StepWorld.at(step), instance = 1, isExecuting = true } = more;
    this.#time = time;
    this.#commits = more.commits ?? new Commits();
    this.#watched = new WatchedStore(store, this.#commits);
    this.#dying = new DyingStore(this.#watched.store, LIVE, ['transact']);
    this.answers = answers;
    const given = {
      ...SETTINGS,
      'ExecutionRuntime:WorkerId': workerIdOf(instance),
      'ExecutionRuntime:OrderedIdNode': `${instance}`,
      'Server:DataDirectory': folder,
    };
    const { settings, faults } = loadConfiguration({
      host: 'embedded',
      env: {},
      argv: Object.entries(given).map(([key, value]) => `--${key}=${value}`),
      readFile: () => undefined,
    });
    if (settings === undefined) throw new Error(faultsText(faults));
    this.#service = compose(settings, {
      world: isHurried ? { ...this.#time.world, timers: hurried.timers } : this.#time.world,
      role: isExecuting ? 'service' : 'maintenance',
      writeLog: () => undefined,
      watchStore: (unused) => {
        void unused.close();
        return this.#dying.store;
      },
    });
  }

  /** Commits so far. */
  get commits(): number {
    return this.#dying.calls;
  }

  /**
   * The process dies right after this many more commits: the database has the last one, but the process gets no answer.
   */
  dieAfter(commits: number): void {
    this.#dying.death = { at: this.#dying.calls + commits, after: true };
  }

  get isDead(): boolean {
    return this.#dying.calls >= this.#dying.death.at;
  }

  async start(): Promise<void> {
    await this.#service.start();
    this.#chain = await this.#service.chain(this.#service.groups);
  }

  /** Moves to a later moment of the step, at which leases of a dead process have ended. */
  outliveLeases(): void {
    this.#time.now += LEASE_OVER_MS;
  }

  /** Sends the step and reads its job until it has ended, also by another instance: the texts of all answers. */
  async take(step: ScenarioStep, index: number, reader: ScenarioProcess = this): Promise<readonly Answer[]> {
    this.#time.begin(index);
    const answers = await this.again(step, keyOf(index), reader);
    await this.quiet();
    return answers;
  }

  /** Settles when no work is under way beside the answers. */
  quiet(): Promise<void> {
    return this.#watched.quiet();
  }

  /** The same without a move of the time. */
  async again(
    step: ScenarioStep,
    idempotencyKey: string,
    reader: ScenarioProcess = this,
  ): Promise<readonly Answer[]> {
    const body =
      typeof step.body === 'function' ? (step.body as (a: Answers) => unknown)(this.answers) : step.body;
    const key = step.job === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const first = await this.#call(step.method, step.path, { ...key, ...step.headers }, body);
    if (step.status !== 0 && first.status !== step.status)
      throw new Error(`${step.name} answered ${first.status}: ${first.body}`);
    if (step.job === undefined) {
      this.answers.set(step.name, /^[[{]/.test(first.body) ? JSON.parse(first.body) : first.body);
      return [first];
    }
    const { id } = JSON.parse(first.body) as { readonly id: string };
    return [first, await reader.#ended(step.job.replace('{id}', id))];
  }

  async #ended(path: string): Promise<Answer> {
    for (;;) {
      // Asked for before the read: a commit beside it may be the last one.
      const commit = this.#commits.next();
      const answer = await this.#call('GET', path, {});
      const { status } = JSON.parse(answer.body) as { readonly status: string };
      if (ENDED.test(status)) return answer;
      await commit;
    }
  }

  async #call(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<Answer> {
    if (this.#chain === null) throw new Error('the process has not started');
    const correlation = { 'X-Correlation-ID': 'scenario' };
    const answer = await inject(this.#chain, {
      method,
      path,
      headers: { ...correlation, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, body: answer.body };
  }

  /** Ends a process that lives, and closes its store. */
  close(): Promise<void> {
    return this.#service.close();
  }
}
