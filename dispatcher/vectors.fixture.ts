import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { OutboxEvent } from './client.ts';
import { RetryAfter } from './errors.ts';
import type { DispatcherOptions } from './options.ts';
import { anEvent, lost, refusal, Stage, transient, turn } from './stage.fixture.ts';

type Verb = 'lease' | 'renew' | 'acknowledge' | 'release';
type Fault = 'transient' | 'lost' | 'refused' | 'odd' | 'hang' | 'late' | { readonly transient: number };
type Step = readonly [string, ...unknown[]];

/** What a dispatcher of any language does, step by step. */
export interface Scenario {
  readonly name: string;
  readonly options?: Partial<DispatcherOptions>;
  readonly dice?: number;
  readonly deaf?: boolean;
  readonly faults?: Readonly<Partial<Record<Verb, readonly Fault[]>>>;
  readonly steps: readonly Step[];
}

/** The dispatchers of all languages are tested against these. */
export const vectors = JSON.parse(
  readFileSync(join(import.meta.dirname, '../sdk/dispatcher/vectors.json'), 'utf8'),
) as {
  readonly scenarios: readonly Scenario[];
  readonly reasons: readonly { unit: string; times: number; then: string; shown: number; end: string }[];
  readonly failures: readonly { status: number; code: string | null; failure: string }[];
  readonly refusedOptions: readonly Partial<DispatcherOptions>[];
};

/** Plays a scenario on a stage. */
export async function play({ options, dice, deaf, faults = {}, steps }: Scenario): Promise<void> {
  const stage = new Stage(options);
  stage.dice = dice ?? stage.dice;
  stage.outbox.deaf = deaf ?? false;
  const player = new Player(stage);
  for (const [verb, given] of Object.entries(faults)) player.fault(verb as Verb, given);
  stage.dispatcher.start();
  await turn();
  for (const [at, step] of steps.entries()) await player.step(step, `step ${at}: ${JSON.stringify(step)}`);
}

class Player {
  readonly #stage: Stage;
  readonly #late = Promise.withResolvers<void>();
  #kept: ((...events: OutboxEvent[]) => Promise<void>) | undefined;
  #stopped = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  fault(verb: Verb, given: readonly Fault[]): void {
    this.#stage.outbox.faults[verb].push(...given.map((each) => this.#faultOf(each)));
  }

  async step([verb, ...given]: Step, where: string): Promise<void> {
    if (!(await this.#act(verb, given))) this.#check(verb, given, where);
  }

  #faultOf(given: Fault): Error | 'hang' | Promise<void> {
    if (typeof given === 'object') return transient(given.transient);
    if (given === 'hang') return 'hang';
    if (given === 'late') return this.#late.promise;
    return { transient, lost, refused: refusal, odd: () => new Error('odd') }[given]();
  }

  async #act(verb: string, given: readonly unknown[]): Promise<boolean> {
    const { outbox, handler, dispatcher } = this.#stage;
    const acts: Readonly<Record<string, () => unknown>> = {
      give: () => outbox.give(...eventsOf(given)),
      'keep the answer': () => {
        this.#kept = outbox.answerer();
      },
      'give the kept answer': () => this.#kept?.(...eventsOf(given)),
      'answer late': () => this.#late.resolve(),
      pass: () => this.#stage.pass(...(given as [number, number?])),
      end: () => handler.end(given[0] as string, errorOf(given[1])),
      obeys: () => {
        handler.obeys = given[0] as boolean;
      },
      dice: () => {
        this.#stage.dice = given[0] as number;
      },
      fault: () => this.fault(given[0] as Verb, given.slice(1) as Fault[]),
      stop: async () => {
        void dispatcher.stop().then(() => {
          this.#stopped = true;
        });
        await turn();
      },
    };
    if (acts[verb] === undefined) return false;
    await acts[verb]();
    return true;
  }

  #check(verb: string, [first, second]: readonly unknown[], where: string): void {
    const { outbox, handler, dispatcher, errors, world } = this.#stage;
    const calls = () => outbox.of(first as Verb);
    const found: Readonly<Record<string, () => unknown>> = {
      requests: () => outbox.leaseRequests,
      calls,
      count: () => calls().length,
      begun: () => handler.begun,
      aborted: () => handler.aborted,
      held: () => dispatcher.held,
      types: () => this.#stage.types(),
      errors: () => errors.map(({ context }) => context.during),
      stopped: () => this.#stopped,
      timers: () => world.pendingTimers,
    };
    expect(found[verb]?.(), where).toEqual(['calls', 'count'].includes(verb) ? second : first);
  }
}

function eventsOf(given: readonly unknown[]): OutboxEvent[] {
  return given.map((each) => {
    const { id, ...more } = each as { readonly id: string };
    return anEvent(id, more);
  });
}

function errorOf(given: unknown): Error | undefined {
  const { error, retryAfter } = (given ?? {}) as { readonly error?: string; readonly retryAfter?: number };
  if (error === undefined) return undefined;
  return retryAfter === undefined ? new Error(error) : new RetryAfter(retryAfter, error);
}
