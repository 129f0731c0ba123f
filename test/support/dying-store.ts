import type { RecordStore } from '../../functions/store/port.ts';
import { isNightly } from './effort.ts';

const never = () => new Promise<never>(() => undefined);

export interface Death {
  /** The call at which the process dies, counted from 1. */
  readonly at: number;
  /** Whether the store has done that call. */
  readonly after: boolean;
}

/** A process that lives. */
export const LIVE: Death = { at: Number.MAX_SAFE_INTEGER, after: false };

/**
 * Deaths at each `step`-th call of a process that makes `calls`: before and after the call in a nightly run, in the other lanes
 * once before and once after in turn.
 */
export function deathsOf(calls: number, step = 1): Death[] {
  const deaths: Death[] = [];
  for (let at = 1, turn = 0; at <= calls; at += step, turn += 1)
    for (const after of isNightly ? [false, true] : [turn % 2 === 1]) deaths.push({ at, after });
  return deaths;
}

/**
 * A store whose process dies at one of its calls, before the call or after it: that call and all later ones never settle. Reads
 * and commits of runs and of other data count alike.
 */
export class DyingStore {
  calls = 0;
  /** A test may move the death of a process that lives. */
  death: Death;
  readonly store: RecordStore;

  /** `verbs` are the calls that count. */
  constructor(inner: RecordStore, death: Death, verbs: readonly string[] = ['transact', 'query', 'claim']) {
    this.death = death;
    const isVerb = (name: unknown) => verbs.includes(String(name));
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (!isVerb(name)) return member.bind(target) as unknown;
        return async (...given: unknown[]) => {
          const { at, after } = this.death;
          this.calls += 1;
          const call = this.calls;
          if (call > at || (call === at && !after)) return never();
          const answer: unknown = await Reflect.apply(member, target, given);
          return call === at ? never() : answer;
        };
      },
    });
  }
}
