import { laneOf, slotKey, startSlotOf } from '../../functions/runs/records.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { Change } from './memory-database.ts';
import { must } from './violation.ts';

/** Invariants of the start keys of all runs, at every moment. */
export class StartKeyLedger {
  /** Which slots say that runs wait, and are looked after. */
  readonly #lookedAfter = new Set<string>();

  applied(changes: readonly Change[], runs: readonly Run[], limit: number): void {
    let isAbout = false;
    for (const { key, after } of changes) {
      isAbout ||= key.collection === 'slots' || key.collection === 'runs';
      if (key.collection !== 'slots') continue;
      if (Number(after?.head.waits ?? 0) > 0 && typeof after?.due === 'number') this.#lookedAfter.add(key.id);
      else this.#lookedAfter.delete(key.id);
    }
    if (!isAbout) return;
    const executed = new Map<string, string[]>();
    for (const run of runs) {
      if (run.startKey === undefined) continue;
      const slot = startSlotOf(run);
      if (run.status === 'queued' && laneOf(run) === undefined)
        must(
          this.#lookedAfter.has(slotKey(slot).id),
          'I10 looked after',
          `${run.id} waits for its key alone`,
        );
      if (run.status !== 'running' || run.concurrencyKey !== slot) continue;
      executed.set(slot, [...(executed.get(slot) ?? []), run.id]);
    }
    for (const ids of executed.values())
      must(ids.length <= limit, 'one at a time', `${ids.join()} of one key are executed, of ${limit}`);
  }
}

/** A payload is replaced only before the first attempt, while the run is put off, and within its bound. */
export function checkReplaced(before: Run, after: Run, about: string): boolean {
  if (before.payloadHash === after.payloadHash && after.traced === before.traced) return false;
  const isReplaced = after.trace.at(-1)?.type === 'run.replaced' && after.traced > before.traced;
  must(isReplaced || before.payloadHash === after.payloadHash, 'I8 run', `${about} has another payload`);
  if (!isReplaced) return false;
  const isPutOff = before.status === 'waiting' && before.attempt === 0 && after.status === 'waiting';
  must(isPutOff, 'I8 run', `${about} was replaced after it had started`);
  must((after.scheduledAt ?? 0) <= (before.quietBy ?? 0), 'I8 run', `${about} was put off for too long`);
  return true;
}
