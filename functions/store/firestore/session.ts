import type { Firestore } from '@google-cloud/firestore';
import { type Clock, delay, type RandomSource, type Timers } from '../../kernel/world.ts';
import { type Scope, StoreError } from '../port.ts';
import { FIRST_GENERATION, headPath } from './layout.ts';
import type { Limits } from './size.ts';

/** Dependencies of every verb. */
export interface Session {
  readonly db: Firestore;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** For all tries of one read. */
  readonly readsTimeoutMs: number;
  readonly limits: Limits;
  readonly states: ScopeStates;
  /** Whether equalities of this collection are combined with orders in its index entries. */
  paired(collection: string): boolean;
  /** The collections whose lists always name a group. */
  readonly grouped: ReadonlySet<string>;
}

/** The part of a scope's head that readers and writers of its records need. */
export interface ScopeState {
  readonly generation: string;
}

const FIRST_STATE: ScopeState = { generation: FIRST_GENERATION };

/**
 * The last known head of each scope. It is only a guess: every call reads the head beside its records, and starts again
 * when the guess was wrong.
 */
export class ScopeStates {
  readonly #states = new Map<string, ScopeState>();

  /** A scope never seen has most likely never been swapped. */
  guess(scope: Scope): ScopeState {
    return this.#states.get(headPath(scope)) ?? FIRST_STATE;
  }

  saw(scope: Scope, state: ScopeState): void {
    const path = headPath(scope);
    this.#states.delete(path);
    if (state.generation === FIRST_GENERATION) return;
    this.#states.set(path, state);
    const oldest = this.#states.keys().next().value;
    if (this.#states.size > statesMax && oldest !== undefined) this.#states.delete(oldest);
  }
}

const statesMax = 10_000;

/** Bounds how often and how long one call tries, and paces its tries. */
export class Patience {
  readonly #session: Session;
  readonly #until: number;
  #refusals = 0;
  #doubts = 0;

  constructor(session: Session) {
    this.#session = session;
    this.#until = session.clock.now() + elapsedMsMax;
  }

  /** Rivals retry as well; the jitter parts them, the growth makes room when they are many. */
  async afterRefusal(): Promise<void> {
    this.#refusals += 1;
    if (this.#refusals >= refusalsMax || this.#session.clock.now() >= this.#until) {
      throw new StoreError('contention', `rivals were faster ${this.#refusals} times`);
    }
    await this.#pause(Math.min(400, 20 * 1.2 ** (this.#refusals - 1)));
  }

  async afterDoubt(error: unknown): Promise<void> {
    this.#doubts += 1;
    if (this.#doubts >= doubtsMax || this.#session.clock.now() >= this.#until) {
      throw new StoreError('unavailable', 'Firestore did not confirm the write', { cause: error });
    }
    await this.#pause(100 * 2 ** this.#doubts);
  }

  #pause(ceilingMs: number): Promise<void> {
    return delay(this.#session.timers, 1 + Math.floor(fraction(this.#session.random) * ceilingMs));
  }
}

const elapsedMsMax = 10_000;
const refusalsMax = 100;
const doubtsMax = 4;

function fraction(random: RandomSource): number {
  return Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32;
}

export function nonce(session: Session): string {
  return Buffer.from(session.random.bytes(12)).toString('base64url');
}
