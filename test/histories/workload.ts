import { randomUUID } from 'node:crypto';
import type { Operation, Outcome } from '../simulation/canonical-calls.ts';
import { History } from '../simulation/history.ts';
import { Random } from '../simulation/random.ts';
import { START } from '../support/canonical.ts';
import type { Instance, Request } from './instance.ts';

export interface WorkloadOptions {
  readonly seed: number;
  readonly clients: number;
  /** Calls of all clients together, a few more or less. */
  readonly operations: number;
  /** The numbers of calls after which one of the instances is killed. */
  readonly killAfter?: readonly number[];
}

/** The share of calls whose answer the caller does not get, as when a connection breaks. */
const ANSWER_LOST = 0.03;
/** The most that the shared clock advances before a call. */
const CLOCK_STEP_MS_MAX = 300;

/** Shared by all clients of one tenant: the instances, the history and one clock. */
export class Workload {
  readonly history = new History();
  readonly tenantId = `tenant-${randomUUID()}`;
  readonly #instances: readonly Instance[];
  readonly #options: WorkloadOptions;
  readonly #kills: number[];
  readonly #random: Random;
  #calls = 0;
  now = START;

  constructor(instances: readonly Instance[], options: WorkloadOptions) {
    this.#instances = instances;
    this.#options = options;
    this.#kills = [...(options.killAfter ?? [])];
    this.#random = new Random(options.seed);
  }

  /**
   * Runs all clients at once, each with a random sequence of its own, so that its requests do not depend on the order
   * of execution.
   */
  async run(turn: (random: Random) => Promise<void>): Promise<void> {
    const { clients, seed, operations } = this.#options;
    const client = async (n: number) => {
      const random = new Random(seed * 1_000 + n);
      while (this.#calls < operations) await turn(random);
    };
    await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
  }

  /** Calls any live instance. Sometimes the answer is lost, though the call was executed. */
  async ask<Id extends Operation>(
    operation: Id,
    body: Request<Id>['body'],
    params: object = {},
  ): Promise<Outcome<Id>> {
    this.#calls += 1;
    this.now += this.#random.below(CLOCK_STEP_MS_MAX);
    const heard = !this.#random.chance(ANSWER_LOST);
    const [due] = this.#kills;
    if (due !== undefined && this.#calls >= due) {
      this.#kills.shift();
      this.#random.pick(this.#instances).kill();
    }
    return this.#send(await this.#ready(), operation, body, params, heard);
  }

  /** Asks each instance in turn, once all is quiet. */
  async askEach<Id extends Operation>(
    operation: Id,
    body: Request<Id>['body'],
    params: object = {},
  ): Promise<Outcome<Id>[]> {
    const outcomes: Outcome<Id>[] = [];
    for (const instance of this.#instances) {
      await instance.started;
      outcomes.push(await this.#send(instance, operation, body, params, true));
    }
    return outcomes;
  }

  async #send<Id extends Operation>(
    instance: Instance,
    operation: Id,
    body: Request<Id>['body'],
    more: object,
    heard: boolean,
  ): Promise<Outcome<Id>> {
    const { now, tenantId } = this;
    const params = { tenantId, ...more } as Request<Id>['params'];
    const done = this.history.begin(operation, params, body, now);
    const outcome = await instance.call({ operation, params, body, now });
    const observed: Outcome<Id> = heard ? outcome : { kind: 'unknown' };
    done(observed);
    return observed;
  }

  async #ready(): Promise<Instance> {
    for (;;) {
      const ready = this.#instances.filter((instance) => instance.ready);
      if (ready.length > 0) return this.#random.pick(ready);
      await Promise.race(this.#instances.map(({ started }) => started));
    }
  }
}
