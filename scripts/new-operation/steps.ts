import { handlerPath } from './code.ts';
import { conformancePath } from './entry.ts';
import { jobsPath } from './job.ts';
import type { NewOperation } from './request.ts';

/** The work that remains after the stubs, in its order. */
export function nextSteps(operation: NewOperation): string {
  const { group, id, job, mutation } = operation;
  const steps = [
    `contracts/operations/${group}.json: descriptions, parameters, problems; then npm run generate`,
    `contracts/schemas/${group}.schema.json: the new models`,
    `${handlerPath(operation)}: load, decide by a pure rule, write`,
    ...(job === null
      ? []
      : [
          `${jobsPath(group)}: the handler ${job}; the operation admits it with admitJob`,
          `functions/groups/${group}/dependencies.ts: jobs and plugin; functions/compose/groups/${group}.ts provides them (docs/durable-work.md)`,
        ]),
    `${conformancePath(group, id)}: every rule and refusal, on every store`,
    ...(mutation === 'read' ? [] : ['test/simulation: a client that uses it, an invariant, a planted bug']),
    'sdk/scenario/scenario.json: the step; then npm run scenario',
    'CHANGELOG.md: what users can do now',
  ];
  const list = steps.map((step, at) => `  ${at + 1}. ${step}`).join('\n');
  return `Write, in this order:\n${list}\nThen: npm run test:contract (it lists every stub that remains).`;
}
