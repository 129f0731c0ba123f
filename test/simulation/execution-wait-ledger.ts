import type { ExecutionWaitResult } from '../../contracts/generated/models.ts';
import type { Run, WaitOutcome } from '../../functions/runs/run.ts';
import type { ExecutionCall } from './execution-calls.ts';
import { must } from './violation.ts';

/** `parked`, or the kind, name and event of the outcome that a wait took. */
type Effect = string;

interface NamedWait {
  readonly leaseToken: string;
  readonly waitId?: string | null;
}

/** A named wait has one effect on its run, however often its worker repeats it, and each repeat answers that effect. */
export class WaitLedger {
  readonly #effects = new Map<string, Effect>();

  wrote(call: ExecutionCall | undefined, before: Run | undefined, after: Run): void {
    const key = keyOf(call);
    const effect = key === null || before === undefined ? null : effectOf(before, after);
    if (key === null || effect === null) return;
    const first = this.#effects.get(key);
    must(first === undefined, 'I9 event once', `${key} did ${first} before, and now ${effect}`);
    this.#effects.set(key, effect);
  }

  /** Whether an earlier call has made this wait. */
  knows(call: ExecutionCall): boolean {
    return this.#effects.has(keyOf(call) ?? '');
  }

  answered(call: ExecutionCall, outcome: ExecutionWaitResult | null, about: string): void {
    const effect = this.#effects.get(keyOf(call) ?? '');
    if (effect === undefined) return;
    const shown =
      outcome === null ? 'parked' : `${outcome.outcome} ${outcome.name} ${outcome.event?.id ?? ''}`;
    must(shown === effect, 'I9 event once', `${about} answers ${shown} to a wait that did ${effect}`);
  }
}

function keyOf(call: ExecutionCall | undefined): string | null {
  if (call?.operation !== 'waitExternalExecutionLease') return null;
  const { leaseToken, waitId } = call.body as unknown as NamedWait;
  return waitId == null ? null : `${leaseToken.slice(0, 8)} ${waitId}`;
}

function effectOf(before: Run, after: Run): Effect | null {
  if (before.lease !== null && after.lease === null) return 'parked';
  const { taken } = after;
  return taken === null || JSON.stringify(taken) === JSON.stringify(before.taken) ? null : textOf(taken);
}

function textOf({ outcome, name, event }: WaitOutcome): Effect {
  return `${outcome} ${name} ${event?.id ?? ''}`;
}
