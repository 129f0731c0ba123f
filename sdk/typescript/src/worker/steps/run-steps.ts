import type { JsonValue } from '../../generated/models.ts';
import { RunFailure, WorkStopped } from '../errors.ts';
import { Branch } from './branches.ts';
import { Execution } from './execution.ts';
import { AmbiguousName, ChangedCode, Stop } from './faults.ts';
import { Journal } from './journal.ts';
import { warnOfNames } from './lint.ts';
import { toolsOf } from './operations.ts';
import type { StepPort } from './ports.ts';
import { type EventSchemas, type StandardSchema, validated } from './schema.ts';
import type { Steps } from './tools.ts';
import { undoAll } from './undo.ts';
import { jsonCopy, StepValueError } from './values.ts';
import { readSegments } from './writer.ts';

/** The part of a definition that an execution needs. */
export interface RunDefinition {
  readonly id: string;
  readonly version?: string;
  readonly input?: StandardSchema<unknown, unknown>;
  readonly output?: StandardSchema<unknown, unknown>;
  readonly events?: EventSchemas;
  readonly run: (steps: Steps, input: never) => unknown;
}

/** Executes a handler with steps once, from its beginning. */
export async function runSteps(definition: RunDefinition, port: StepPort): Promise<JsonValue> {
  const { id, version = '1' } = definition;
  const journal = Journal.of(await readSegments(port), { handler: id, version });
  const execution = new Execution(port, journal);
  try {
    const result = await Promise.race([handled(definition, execution), execution.halted]);
    if (execution.ending !== null) throw execution.ending;
    if (mustUndoLater(execution)) throw port.signal.reason;
    await reportUnused(execution);
    return result;
  } catch (error) {
    throw await failureOf(execution, error);
  } finally {
    warnOfNames(execution);
    execution.close();
  }
}

/** The result of the handler, checked. */
export async function handled(
  { input, output, events, run }: RunDefinition,
  execution: Execution,
  wrapped = (tools: Steps) => tools,
): Promise<JsonValue> {
  const { payload } = execution.port.run;
  const given =
    input === undefined
      ? payload
      : await validated(input, payload, (text) => new Stop(`The payload ${text}`));
  const result = await run(wrapped(toolsOf(execution, events)), given as never);
  const checked =
    output === undefined ? result : await validated(output, result, (text) => new Stop(`The result ${text}`));
  try {
    return jsonCopy(checked);
  } catch (error) {
    if (error instanceof StepValueError)
      throw new Stop(`The result cannot be kept: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The error of the attempt, after what steps did is undone if the run fails for good. */
async function failureOf(execution: Execution, error: unknown): Promise<unknown> {
  const { run, signal, over = signal, giveBack } = execution.port;
  if (over.aborted) return over.reason;
  if (mustUndoLater(execution)) giveBack?.();
  if (!execution.isCancelled && (error instanceof WorkStopped || signal.aborted))
    return error instanceof WorkStopped ? error : signal.reason;
  if (error instanceof ChangedCode || error instanceof AmbiguousName) return error;
  const isLast = run.isLastAttempt ?? run.maxAttempts === 1;
  const ending = execution.ending ?? (error instanceof Stop ? error : isLast ? finalOf(error) : null);
  if (ending === null) return error;
  const isOwn = execution.ending === null && !(error instanceof Stop);
  try {
    await undoAll(execution, ending, new Branch(execution.root));
  } catch (stopped) {
    return stopped;
  }
  return isOwn ? error : ending;
}

/** A caller has just requested the cancellation. Only a run with a cooperative one is leased again, with time to undo. */
function mustUndoLater({ port, undos, isCancelled }: Execution): boolean {
  return port.signal.aborted && !isCancelled && undos.size > 0 && port.giveBack !== undefined;
}

function finalOf(error: unknown): Stop {
  if (error instanceof RunFailure)
    return new Stop(error.message, { failureClass: error.failureClass, cause: error });
  return new Stop('The handler failed.', { failureClass: 'unknown', cause: error });
}

async function reportUnused(execution: Execution): Promise<void> {
  const steps = execution.unused();
  if (steps.length === 0) return;
  await execution.port.record({
    type: 'steps.unused',
    severity: 'warning',
    message: 'The journal holds results of steps that the handler no longer has.',
    details: { steps: steps.slice(0, 20), count: steps.length },
  });
}
