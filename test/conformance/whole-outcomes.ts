import { withTiesBroken } from './whole-answers.ts';
import type { Answer, ScenarioProcess } from './whole-stage.ts';
import { PROBES, type ScenarioStep } from './whole-steps.ts';

/** The answer of a step and the records it left, without values that depend on the time or the process. */
export interface StepOutcome {
  /** The last one: the first of a job shows how far it happens to be. */
  readonly answer: string;
  readonly left: readonly string[];
}

/** A step that changes data, also when it is sent twice with one idempotency key. */
export const isWriting = ({ path, job }: ScenarioStep): boolean =>
  job !== undefined || path.endsWith('/transactions');

/** A step that only reads leaves the records unchanged. */
export const outcomeOf = async (
  process: ScenarioProcess,
  step: ScenarioStep,
  given: readonly Answer[],
): Promise<StepOutcome> => ({
  answer: masked(step, given.at(-1)),
  left: isWriting(step) ? await probes(process) : [],
});

async function probes(process: ScenarioProcess): Promise<string[]> {
  const left: string[] = [];
  for (const probe of PROBES) {
    const [answer] = await process.again(probe, '');
    left.push(`${probe.name}: ${masked(probe, answer)}`);
  }
  return left;
}

/** Without times, ids of runs, traces and uploads, hashes over times, and the number of starts of a process. */
function masked({ name }: ScenarioStep, answer: Answer | undefined): string {
  const { status, body } = answer ?? { status: 0, body: '' };
  const text = body
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<moment>"')
    .replaceAll(/\b(?:\d{18,20}|adm_[0-9a-f]{64}|trace-[0-9a-f]{32}|(?<=ticket":")[0-9a-f]{32})\b/g, '<id>')
    .replaceAll(
      /"(contentHash|valueHash|etag|rawContentHash|requestHash|expectedHash|actualHash)":"sha256:[0-9a-f]{64}"/g,
      '"$1":"<hash>"',
    )
    .replaceAll(/(?<=hash is )sha256:[0-9a-f]{64}/g, '<hash>')
    .replaceAll(
      /"(replayed|attempt|attempts|leaseExpirations|durationMs|latencyMs)":[\w.]+/g,
      '"$1":"<count>"',
    );
  return `${status} ${name === 'traces' ? withTiesBroken(text) : text}`;
}
