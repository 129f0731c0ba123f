import type { KeyRequest, LoadedRecords, RecordData, Write } from '../store/port.ts';
import { readRun, runKey, slotKey } from './records.ts';
import { leaseIsOver } from './rules/due.ts';
import { enterKey, type KeyPlace, type KeySlot, withWaiting } from './rules/start-key.ts';
import type { Run } from './run.ts';
import { type StartSlot, slotIn, slotRequests, slotWrite } from './start-slot.ts';

/**
 * `rival`: the slot is not the one that was read. `lapsed`: the lease of a holder ran out, unsettled. `behind`: there is room, and an
 * earlier run may wait for it.
 */
export type KeyState = 'free' | 'held' | 'rival' | 'lapsed' | 'behind';

/** How runs share a concurrency key, in the transaction that leases one of them. */
export interface Sharing {
  readonly concurrencyKey: string;
  readonly keysOf: (runId: string) => readonly KeyRequest[];
  readonly stateOf: (found: LoadedRecords, run: Run, now: number) => KeyState;
  readonly writesOf: (leased: Run, now: number) => readonly Write[];
  /** The writes beside a run that waits for the key from now on; absent where runs stay where workers find them. */
  readonly waitWrites?: (now: number) => readonly Write[];
}

/** The key of a handler: the slot names the last holder, and that run says whether it still holds the key. */
export function handlerSharing(concurrencyKey: string, holderId: string | null): Sharing {
  const key = slotKey(concurrencyKey);
  return {
    concurrencyKey,
    keysOf: (runId) => [
      { key },
      ...(holderId === null || holderId === runId ? [] : [{ key: runKey(holderId), view: 'body' as const }]),
    ],
    stateOf(found, run, now) {
      const slot = found.get(key);
      const current = holderOf(slot);
      if (current !== holderId) return 'rival';
      if (holderId === null || holderId === run.id) return 'free';
      const record = found.get(runKey(holderId));
      if (record === undefined) return 'free';
      const holder = readRun(record, holderId);
      const holds =
        holder.status === 'running' &&
        holder.concurrencyKey === concurrencyKey &&
        holder.attempt === slot?.head.attempt;
      if (!holds) return 'free';
      return leaseIsOver(holder, now) ? 'lapsed' : 'held';
    },
    writesOf: ({ id: runId, attempt }) => [{ put: { key, head: { runId, attempt } } }],
  };
}

export function holderOf(slot: RecordData | undefined): string | null {
  const runId = slot?.head.runId;
  return typeof runId === 'string' ? runId : null;
}

export interface StartSharing extends Sharing {
  /** The runs whose leases were found run out. */
  readonly lapsed: () => readonly string[];
}

/** The key of a start request. A run that finds no place waits where no worker finds it, until one is offered. */
export function startSharing(slot: StartSlot, seen: KeySlot, limit: number): StartSharing {
  const { name } = slot;
  let lapsed: readonly string[] = [];
  let places: readonly KeyPlace[] = [];
  let current = seen;
  return {
    concurrencyKey: name,
    keysOf: (runId) => slotRequests(name, seen, runId),
    stateOf(found, run, now) {
      lapsed = [];
      const view = slotIn(found, name, seen, { limit, now });
      if (view === null) return 'rival';
      current = view.slot;
      const decision = enterKey(run, view);
      if (decision.kind === 'full') return 'held';
      if (decision.kind === 'behind') return 'behind';
      if (decision.kind === 'free') {
        places = decision.places;
        return 'free';
      }
      lapsed = decision.runIds;
      return 'lapsed';
    },
    writesOf: (_leased, now) => [slotWrite(slot, { ...current, places }, now)],
    waitWrites: (now) => [slotWrite(slot, withWaiting(current), now)],
    lapsed: () => lapsed,
  };
}
