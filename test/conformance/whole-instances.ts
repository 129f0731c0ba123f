import type { RecordStore } from '../../functions/store/port.ts';
import { type Answer, Commits, ScenarioProcess, StepWorld } from './whole-stage.ts';
import type { ScenarioStep } from './whole-steps.ts';

/** Which of the instances execute jobs. */
export type Executors = 'both' | 'second';

export interface InstancesOptions {
  readonly folder: string;
  readonly stores: readonly [RecordStore, RecordStore];
  readonly executors: Executors;
}

/** Two instances of one service over one database, at one time. They take the steps in turn. */
export class ScenarioInstances {
  readonly #processes: readonly [ScenarioProcess, ScenarioProcess];

  constructor({ folder, stores: [one, other], executors }: InstancesOptions) {
    // An executor on the other instance alone finds runs by its periodic check for changes.
    const isHurried = executors === 'second';
    const answers = new Map<string, unknown>();
    const shared = { folder, time: new StepWorld(), commits: new Commits(), answers, isHurried };
    this.#processes = [
      new ScenarioProcess({ ...shared, store: one, instance: 1, isExecuting: executors === 'both' }),
      new ScenarioProcess({ ...shared, store: other, instance: 2 }),
    ];
  }

  async start(): Promise<void> {
    for (const process of this.#processes) await process.start();
  }

  /** The one sends the step, and the other reads the job that it may have started. */
  async take(step: ScenarioStep, index: number): Promise<readonly Answer[]> {
    const [one, other] = this.#processes;
    const [taker, reader] = index % 2 === 0 ? [one, other] : [other, one];
    const answers = await taker.take(step, index, reader);
    await reader.quiet();
    // The commits of the reader may have woken the taker.
    await taker.quiet();
    return answers;
  }

  async close(): Promise<void> {
    for (const process of this.#processes) await process.close();
  }
}
