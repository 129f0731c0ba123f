import type { JsonValue } from '../src/index.ts';
import { StepFailed, type Steps, Stop } from '../src/worker/index.ts';
import type { RunDefinition } from '../src/worker/steps/run-steps.ts';
import type { RunStage, StageOptions } from './steps-stage.ts';

/** The programs of `sdk/steps/vectors.json`. */

interface Try {
  readonly takesMs: number;
  readonly value?: JsonValue;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
}

interface Op {
  readonly op: string;
  readonly name?: string | readonly (string | number)[];
  readonly tries?: readonly Try[];
  readonly retry?: { readonly attempts: number; readonly delaySeconds: number; readonly factor?: number };
  readonly mayFail?: boolean;
  readonly undo?: { readonly takesMs: number };
  readonly seconds?: number;
  readonly timeoutSeconds?: number;
  readonly afterMs?: number;
  readonly payload?: JsonValue;
  readonly change?: string;
  readonly gives?: JsonValue;
  readonly handler?: string;
  readonly input?: JsonValue;
  readonly result?: JsonValue;
  readonly failed?: { readonly status: string; readonly failureClass: string; readonly error: string };
  readonly message?: string;
}

export interface Program {
  readonly title: string;
  readonly handler: string;
  readonly version?: string;
  readonly ops: readonly Op[];
  readonly segments: readonly string[];
  /** The message of the failure. */
  readonly ends?: string;
}

export function stageOptionsOf({ ops }: Program): StageOptions {
  const events = ops.filter(
    ({ op, payload, afterMs }) => op === 'event' && payload !== 'none' && afterMs !== undefined,
  );
  const children = ops.filter(({ op }) => op === 'invoke');
  return {
    replies: Object.fromEntries(
      events.map(({ name, afterMs = 0, payload = null }) => [String(name), { afterMs, payload }]),
    ),
    children: Object.fromEntries(
      children.map(({ handler = '', result = null, failed }) => [
        handler,
        { outcome: failed ?? { status: 'succeeded' as const, result } },
      ]),
    ),
    uuids: ops.filter(({ op }) => op === 'uuid').map(({ gives }) => JSON.stringify(gives).slice(1, -1)),
    randoms: ops.filter(({ op }) => op === 'random').map(({ gives }) => Number(gives)),
  };
}

/** The handler of a program. */
export function definitionOf({ handler, version, ops }: Program, { clock }: RunStage): RunDefinition {
  const run = async (steps: Steps) => {
    for (const op of ops) {
      try {
        await perform(steps, op);
      } catch (error) {
        if (!(op.mayFail === true && error instanceof StepFailed)) throw error;
      }
    }
  };
  const perform = (steps: Steps, op: Op): unknown => {
    const { name = '', handler: id = '', input } = op;
    switch (op.op) {
      case 'step':
        return steps.step(name, async ({ attempt }) => triedOnce(op, attempt), optionsOf(op));
      case 'sleep':
        return steps.sleep(name, op.seconds ?? 0);
      case 'event':
        return steps.waitForEvent(
          name,
          op.timeoutSeconds === undefined ? {} : { timeout: op.timeoutSeconds },
        );
      case 'start':
        return steps.start(name, { id }, input);
      case 'invoke':
        return steps.invoke(name, { id }, input);
      case 'since':
        return steps.since(op.change ?? '');
      case 'stop':
        throw new Stop(op.message ?? '');
      default:
        return steps[op.op as 'now' | 'uuid' | 'random']();
    }
  };
  const triedOnce = async ({ tries = [] }: Op, attempt: number): Promise<JsonValue> => {
    const { takesMs, value = null, error } = tries[attempt - 1] as Try;
    await clock.pause(takesMs);
    if (error !== undefined) throw Object.assign(new Error(error.message), error);
    return value;
  };
  const optionsOf = ({ retry, undo }: Op) => ({
    ...(retry === undefined
      ? {}
      : { retry: { attempts: retry.attempts, delay: retry.delaySeconds, factor: retry.factor ?? 2 } }),
    ...(undo === undefined ? {} : { undo: () => clock.pause(undo.takesMs) }),
  });
  return { id: handler, ...(version === undefined ? {} : { version }), run };
}
