import { hash } from 'node:crypto';
import type { Answer } from './whole-stage.ts';
import type { ScenarioStep } from './whole-steps.ts';

export interface StepAnswers {
  readonly step: ScenarioStep;
  readonly answers: readonly Answer[];
}

/** SHA-256 of all answers, the same on every database. */
export const hashOf = (taken: readonly StepAnswers[]): string =>
  hash(
    'sha256',
    numbered(taken.flatMap(({ step, answers }) => answers.map((answer) => textOf(step, answer))).join('\n')),
  );

/** Without the admissions of jobs, which show whether the admitting process executes them at once. */
export const lastOf = (taken: readonly StepAnswers[]): readonly StepAnswers[] =>
  taken.map(({ step, answers }) => ({ step, answers: answers.slice(-1) }));

const textOf = ({ name }: ScenarioStep, { status, body }: Answer): string =>
  `${name}: ${status} ${name === 'traces' ? withTiesBroken(body) : body}`;

interface ListedTrace {
  readonly createdAt: string;
}

/** Traces of one moment are listed by their random ids, which depend on the process that drew them: here by their content. */
export function withTiesBroken(body: string): string {
  const moments: ListedTrace[][] = [];
  for (const trace of JSON.parse(body) as readonly ListedTrace[]) {
    const last = moments.at(-1);
    if (last?.[0]?.createdAt === trace.createdAt) last.push(trace);
    else moments.push([trace]);
  }
  const content = (trace: ListedTrace) => JSON.stringify({ ...trace, id: null });
  return JSON.stringify(
    moments.flatMap((traces) => traces.toSorted((a, b) => (content(a) < content(b) ? -1 : 1))),
  );
}

/**
 * Replaces random ids of runs, traces and uploads by numbers in the order of their appearance: background work on a
 * slow machine may draw an id in between.
 */
function numbered(text: string): string {
  const numbers = new Map<string, number>();
  return text.replaceAll(
    /\b(?:\d{18,20}|adm_[0-9a-f]{64}|trace-[0-9a-f]{32}|(?<=ticket":")[0-9a-f]{32})\b/g,
    (id) => {
      const number = numbers.get(id) ?? numbers.size + 1;
      numbers.set(id, number);
      return `<id ${number}>`;
    },
  );
}
