import { StoreError } from '../../functions/store/port.ts';
import type { MemoryHooks, Trip } from './memory-store.ts';
import type { Random } from './random.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** How often each fault strikes, from 0 to 1. */
export interface Faults {
  /** A store attempt is lost to rivals. */
  aborted: number;
  /** The store does not answer, and nothing was done. */
  unavailable: number;
  /** The store completed the call, and its answer is lost. */
  replyLost: number;
  /** A page is shorter than requested. */
  shortPage: number;
  /** Whether the store leaves unread what is expected to be absent. */
  skipsExpectedAbsent: boolean;
  /** A request is lost between client and instance. */
  requestLost: number;
  /** An answer is lost between instance and client. */
  answerLost: number;
  /** A client stops waiting while its request is still under way. */
  impatient: number;
  /** An instance dies at one of its awaits. */
  killed: number;
}

export const NO_FAULTS: Readonly<Faults> = {
  aborted: 0,
  unavailable: 0,
  replyLost: 0,
  shortPage: 0,
  skipsExpectedAbsent: false,
  requestLost: 0,
  answerLost: 0,
  impatient: 0,
  killed: 0,
};

/** Each run has its own mix, and many a run lacks a fault altogether: rare states hide behind common ones. */
export function drawFaults(random: Random): Faults {
  const rate = (most: number) => (random.chance(0.4) ? 0 : random.next() * most);
  return {
    aborted: rate(0.6),
    unavailable: rate(0.05),
    replyLost: rate(0.15),
    shortPage: rate(0.6),
    skipsExpectedAbsent: random.chance(0.5),
    requestLost: rate(0.05),
    answerLost: rate(0.1),
    impatient: rate(0.15),
    killed: rate(0.03),
  };
}

export interface Oracle {
  readonly observed: NonNullable<MemoryHooks['observed']>;
  readonly applied: NonNullable<MemoryHooks['applied']>;
  readonly replaced: NonNullable<MemoryHooks['replaced']>;
}

/** Parks every round trip of an instance before and after its moment, and lets faults strike there. */
export function faultyHooks(
  scheduler: Scheduler,
  instance: Process,
  faults: Faults,
  oracle: Oracle,
): Required<MemoryHooks> {
  const { random } = scheduler;
  return {
    before: async (trip) => {
      await scheduler.park(instance, `${trip} >`);
      if (random.chance(faults.unavailable)) throw unavailable(trip);
    },
    after: async (trip) => {
      await scheduler.park(instance, `${trip} <`);
      if (random.chance(faults.replyLost)) throw unavailable(trip);
    },
    loses: () => random.chance(faults.aborted),
    skipsExpectedAbsent: () => faults.skipsExpectedAbsent,
    pageMax: () => (random.chance(faults.shortPage) ? 1 + random.below(3) : Number.MAX_SAFE_INTEGER),
    observed: oracle.observed,
    applied: oracle.applied,
    replaced: oracle.replaced,
  };
}

function unavailable(trip: Trip): StoreError {
  return new StoreError('unavailable', `no answer from the database to a ${trip}`);
}
