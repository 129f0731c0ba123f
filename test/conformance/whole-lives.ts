import type { Collection, RecordStore } from '../../functions/store/port.ts';
import { MortalStore } from './whole-deaths.ts';
import { outcomeOf, type StepOutcome } from './whole-outcomes.ts';
import { type Answer, allCollections, keyOf, ScenarioProcess, StepWorld } from './whole-stage.ts';
import type { ScenarioStep } from './whole-steps.ts';

/** With more processes, each of which waits for the lease of the one before, a step would last until the next one begins. */
const LIVES_MAX = 59;

/** Opens the database of the service for one of its processes. */
export type OpenStore = (collections: readonly Collection[]) => Promise<RecordStore>;

export interface LivesOptions {
  /** Holds the bytes of objects. */
  readonly folder: string;
  readonly open: OpenStore;
  /** The key with which a step is sent for the nth time. Default: the same each time, as the contract asks. */
  readonly keyOf?: (index: number, time: number) => string;
}

interface Life {
  readonly process: ScenarioProcess;
  readonly database: RecordStore;
  readonly death: Promise<void>;
}

export interface LivedStep {
  readonly outcome: StepOutcome;
  /** All commits of all processes, and after which of them one died. */
  readonly commits: readonly string[];
  readonly deaths: readonly string[];
}

/** A service of one process at a time. One that dies is followed by another one, and the caller sends the step again. */
export class ScenarioLives {
  readonly #options: LivesOptions;
  readonly #time = new StepWorld();
  readonly #answers = new Map<string, unknown>();
  #isDeadly: (commit: string) => boolean = () => false;
  #life: Life | null = null;

  constructor(options: LivesOptions) {
    this.#options = options;
  }

  /** A process dies after each of the commits `fatal`, once for each time that one is named. */
  async take(step: ScenarioStep, index: number, fatal: readonly string[]): Promise<LivedStep> {
    if (this.#life === null) await (await this.#begin(false)).process.start();
    const commits: string[] = [];
    const deaths: string[] = [];
    const timesIn = (names: readonly string[], name: string) => names.filter((each) => each === name).length;
    this.#isDeadly = (commit) => {
      commits.push(commit);
      const isDeadly = timesIn(deaths, commit) < timesIn(fatal, commit);
      if (isDeadly) deaths.push(commit);
      return isDeadly;
    };
    const key = this.#options.keyOf ?? keyOf;
    let given = await this.#unlessDead((process) => process.take(step, index));
    for (let time = 2; given === null; time += 1) {
      if (time > LIVES_MAX) throw new Error(`${step.name} does not come to an end: ${deaths.join('\n')}`);
      await this.#life?.database.close();
      await this.#begin(true);
      given = await this.#unlessDead(async (process) => {
        process.outliveLeases();
        await process.start();
        const answers = await process.again(step, key(index, time));
        await process.quiet();
        return answers;
      });
    }
    this.#isDeadly = () => false;
    const { process } = this.#life as unknown as Life;
    return { outcome: await outcomeOf(process, step, given), commits, deaths };
  }

  async close(): Promise<void> {
    await this.#life?.process.close();
  }

  async #begin(isHurried: boolean): Promise<Life> {
    const { folder, open } = this.#options;
    const database = await open(await allCollections());
    const { store, death } = new MortalStore(database, (commit) => this.#isDeadly(commit));
    const shared = { folder, time: this.#time, answers: this.#answers };
    this.#life = { process: new ScenarioProcess({ ...shared, store, isHurried }), database, death };
    return this.#life;
  }

  /** The answers, or `null` where the process dies before. */
  #unlessDead(
    take: (process: ScenarioProcess) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[] | null> {
    const { process, death } = this.#life as Life;
    return Promise.race([death.then(() => null), take(process)]);
  }
}
