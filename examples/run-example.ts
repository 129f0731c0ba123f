import { EmulatorNotFound } from '../emulator/firestore.ts';
import { APIConnectionError, APIStatusError } from '../sdk/typescript/src/index.ts';

/** One run of an example: its story, and what is to be cleaned up behind it. */
export interface Example {
  /** How it is started, such as `example:records`. */
  readonly name: string;
  /** How long it takes on an idle machine. */
  readonly takes: string;
  /** Plays the story; `undo` registers steps of clean-up, which are done in reverse order. Answers what was shown, in one line. */
  readonly main: (undo: (step: () => Promise<unknown>) => void) => Promise<string>;
}

/** A busy machine may be too slow for a call; a story that fails so begins anew, with new data. */
const TRIES_MAX = 2;

/** Plays an example and ends the process, with one line that says how it went. */
export async function runExample({ name, takes, main }: Example): Promise<never> {
  console.log(`${name} takes ${takes}; longer on a busy machine.`);
  const interrupted = new Promise<null>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(null));
  });
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  for (let tries = 1; ; tries += 1) {
    const steps: (() => Promise<unknown>)[] = [];
    const end = await Promise.race([interrupted, playOnce(main, steps)]);
    const left = await cleanUp(steps);
    for (const error of left) console.error(`Clean-up failed: ${lineOf(error)}`);
    if (end === null) {
      console.error(`${name} was stopped after ${seconds()}.`);
      process.exit(1);
    }
    if ('shown' in end) {
      console.log(`${end.shown}, in ${seconds()}.`);
      process.exit(0);
    }
    if (tries === TRIES_MAX || !passes(end.error)) return fail(name, seconds(), end.error);
    console.error(`The machine was too slow (${lineOf(end.error)}). ${name} begins anew.`);
  }
}

type End = { readonly shown: string } | { readonly error: unknown };

async function playOnce(main: Example['main'], steps: (() => Promise<unknown>)[]): Promise<End> {
  try {
    return { shown: await main((step) => void steps.push(step)) };
  } catch (error) {
    return { error };
  }
}

/** Does every step, also behind one that failed; answers what failed. */
async function cleanUp(steps: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]> {
  const failed: unknown[] = [];
  for (const step of steps.toReversed()) await step().catch((error: unknown) => failed.push(error));
  return failed;
}

function fail(name: string, after: string, error: unknown): never {
  if (error instanceof EmulatorNotFound) {
    console.error(error.message);
    console.error(`${name} did not begin: it needs the Firestore emulator.`);
  } else {
    if (process.env['SVC_EXAMPLE_STACK'] !== undefined) console.error(error);
    console.error(
      `${name} failed after ${after}: ${lineOf(error)} (SVC_EXAMPLE_STACK=1 shows where it happened)`,
    );
  }
  process.exit(1);
}

/**
 * Whether the same story may go well: the service or a database did not answer in time, or had too much to do.
 * @testonly
 */
export function passes(error: unknown): boolean {
  if (error instanceof APIStatusError) return error.retryable === true || error.status >= 500;
  if (error instanceof APIConnectionError) return true;
  return (
    error instanceof Error &&
    /\b(?:transient|unavailable|timeout|store_contention|too slow)\b/i.test(error.message)
  );
}

/**
 * An error in one line, with what is behind it.
 * @testonly
 */
export function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [first = ''] = error.message.split('\n');
  const name = error.name === 'Error' ? '' : `${error.name}: `;
  return `${name}${first}${error.cause instanceof Error ? ` (${lineOf(error.cause)})` : ''}`;
}
