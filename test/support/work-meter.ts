import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { Timers, World } from '../../functions/kernel/world.ts';

/** The work of the process in one turn of its event loop. */
export interface TurnOfWork {
  /** Texts that were parsed, written or hashed, and steps of generators. */
  readonly steps: number;
  /** Characters of these texts, and those that were looked at one by one. */
  readonly characters: number;
}

export interface Work {
  readonly turns: readonly TurnOfWork[];
  readonly characters: number;
  /** Steps of the turn that had the most. */
  readonly stepsMost: number;
  /** Characters of the turn that had the most. */
  readonly charactersMost: number;
}

type Callable = (this: unknown, ...given: unknown[]) => unknown;
type CountedCharacters = (given: readonly unknown[], made: unknown) => number;

/** Far fewer than a machine does: a small test then takes as many turns as a large call does. */
const STEPS_A_MS = 200;
const CHARACTERS_A_STEP = 1_000;

/**
 * Counts the work of the process by what it does, and is the clock of a world in which time passes by work alone: work that looks at
 * the clock is due after the same amount of it on each machine. The counted functions still do what they do.
 */
export class WorkMeter {
  #steps = 0;
  #characters = 0;
  /** The counts at the end of the last turn. */
  #ended = { steps: 0, characters: 0 };
  #turns: TurnOfWork[] = [];
  /** Time for which code has waited while there was no work. */
  #waitedMs = 0;
  readonly #beganAt = Date.now();
  readonly #timers = new Set<{ readonly dueAt: number; readonly fire: () => void }>();
  readonly #restore: (() => void)[] = [];
  #isOpen = true;

  constructor() {
    this.#count(JSON, 'parse', ([text]) => sizeOf(text));
    this.#count(JSON, 'stringify', (_, text) => sizeOf(text));
    this.#count(crypto, 'hash', ([, data]) => sizeOf(data));
    this.#count(crypto.Hash.prototype, 'update', ([data]) => sizeOf(data));
    this.#count(generatorPrototype(), 'next', () => 0);
    this.#countUnits();
    syncBuiltinESMExports();
    setImmediate(() => this.#endTurn());
  }

  /** The machine with the clock of this meter. A timer ends once its time has passed by work, or on the machine. */
  world(machine: World): World {
    const clock = { now: () => this.#now() };
    return { ...machine, clock, timers: this.#timersOf(machine.timers), turns: new TurnRoom(clock) };
  }

  /** Turns that have ended. */
  get turns(): number {
    return this.#turns.length;
  }

  /** The turns from `begin` on. */
  since(begin: number): Work {
    const turns = this.#turns.slice(begin);
    return {
      turns,
      characters: turns.reduce((sum, { characters }) => sum + characters, 0),
      stepsMost: turns.reduce((most, { steps }) => Math.max(most, steps), 0),
      charactersMost: turns.reduce((most, { characters }) => Math.max(most, characters), 0),
    };
  }

  close(): void {
    this.#isOpen = false;
    for (const restore of this.#restore.toReversed()) restore();
    syncBuiltinESMExports();
  }

  #now(): number {
    const worked = weightOf({ steps: this.#steps, characters: this.#characters }) / STEPS_A_MS;
    return Math.floor(this.#beganAt + this.#waitedMs + worked);
  }

  #timersOf(timers: Timers): Timers {
    return {
      after: (delayMs, callback) => {
        const dueAt = this.#now() + delayMs;
        const cancel = (): void => {
          cancelOnMachine();
          this.#timers.delete(timer);
        };
        const fire = (): void => {
          cancel();
          this.#waitedMs += Math.max(0, dueAt - this.#now());
          callback();
        };
        const timer = { dueAt, fire };
        const cancelOnMachine = timers.after(delayMs, fire);
        this.#timers.add(timer);
        return cancel;
      },
    };
  }

  #endTurn(): void {
    if (!this.#isOpen) return;
    const { steps, characters } = this.#ended;
    this.#turns.push({ steps: this.#steps - steps, characters: this.#characters - characters });
    this.#ended = { steps: this.#steps, characters: this.#characters };
    const now = this.#now();
    const due = [...this.#timers].filter(({ dueAt }) => dueAt <= now);
    // One that fires may cancel another.
    for (const timer of due) if (this.#timers.has(timer)) timer.fire();
    setImmediate(() => this.#endTurn());
  }

  #count(holder: object, name: string, charactersOf: CountedCharacters): void {
    const add = (given: readonly unknown[], made: unknown): void => {
      this.#steps += 1;
      this.#characters += charactersOf(given, made);
    };
    this.#replace(holder, name, (own) => {
      return function counted(this: unknown, ...given: unknown[]) {
        const made = own.apply(this, given);
        add(given, made);
        return made;
      };
    });
  }

  /** Code that reads a text unit by unit. */
  #countUnits(): void {
    const add = (): void => {
      this.#characters += 1;
    };
    this.#replace(String.prototype, 'charCodeAt', (own) => {
      return function counted(this: unknown, at: unknown) {
        add();
        return own.call(this, at);
      };
    });
  }

  #replace(holder: object, name: string, wrap: (own: Callable) => Callable): void {
    const members = holder as Record<string, Callable>;
    const own = members[name];
    if (own === undefined) throw new Error(`there is no ${name} to count`);
    members[name] = wrap(own);
    this.#restore.push(() => {
      members[name] = own;
    });
  }
}

function weightOf({ steps, characters }: TurnOfWork): number {
  return steps + characters / CHARACTERS_A_STEP;
}

function sizeOf(data: unknown): number {
  if (typeof data === 'string') return data.length;
  return data instanceof Uint8Array ? data.byteLength : 0;
}

function generatorPrototype(): object {
  const none = (function* none(): Generator<void, void> {})();
  return Object.getPrototypeOf(Object.getPrototypeOf(none)) as object;
}
