import { limits } from '../../../contracts/generated/limits.ts';
import { parseJson } from '../../../functions/kernel/json-text.ts';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { interruptible } from '../../interruption.ts';
import { exitCodes, jsonText, printLine, resultText, ToolError, warn } from '../../output.ts';
import type { Inputs } from '../../remote/inputs.ts';
import type { Remote } from '../../remote.ts';
import { bulk } from '../bulk/bulk.ts';
import { activeStatuses } from '../filter.ts';
import { runsText, runText } from '../run-text.ts';
import type { RerunOptions } from './options.ts';
import { planRerun, type RerunPlan, startAgain } from './start.ts';

export async function rerunOne(
  remote: Remote,
  runId: string,
  options: RerunOptions,
  inputs: Inputs,
): Promise<void> {
  const { from, idempotencyKey, output, dryRun, force } = options;
  const payload = await payloadIn(options.payload, inputs);
  const how = { from, payload, idempotencyKey, force: force === true };
  await interruptible('a new run may be started: svc runs list tells', async (signal) => {
    const plan = await planRerun(remote, runId, how, signal);
    if (dryRun === true) return showPlan(plan, output);
    const run = await startAgain(remote, plan.request, signal);
    printLine(output === 'json' ? runText(output, run) : runsText(output, [run]));
  });
}

function showPlan({ request, cut }: RerunPlan, output: RerunOptions['output']): void {
  const { kept = [], again = [] } = cut ?? {};
  const { checkpoints, ...shown } = request;
  const journal = { kept, again, checkpoints: checkpoints?.length ?? 0 };
  if (output === 'json') return printLine(jsonText({ request, ...journal }));
  printLine(resultText('table', cut === null ? shown : { ...shown, ...journal }));
  warn('1 run would be started.');
}

export async function rerunMany(remote: Remote, options: RerunOptions, inputs: Inputs): Promise<void> {
  const { from, status } = options;
  const payload = await payloadIn(options.payload, inputs);
  const isForced = options.force === true;
  if (status !== undefined && activeStatuses.includes(status) && !isForced)
    throw new ToolError(
      `Runs that are ${status} have not ended: --force starts others beside them.`,
      exitCodes.usage,
    );
  const given = { from, payload, ...(isForced ? { force: true } : {}) };
  await bulk(remote, options, {
    action: 'rerun',
    words: { done: 'run again', doing: 'running again' },
    options: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    statuses: [],
    async perform(runId, { batch, options: kept }) {
      const how = kept as { readonly from?: string; readonly payload?: JsonValue; readonly force?: true };
      const idempotencyKey = `rerun-${batch}-${runId}`;
      const { request } = await planRerun(remote, runId, {
        ...how,
        idempotencyKey,
        force: how.force === true,
      });
      const run = await startAgain(remote, request);
      return { status: run.status, newRunId: run.id };
    },
  });
}

async function payloadIn(path: string | undefined, inputs: Inputs): Promise<JsonValue | undefined> {
  if (path === undefined) return undefined;
  const text = (await inputs.read(path, limits.executionPayloadBytesMax * 2)).toString('utf8');
  try {
    return parseJson(text) as JsonValue;
  } catch (error) {
    throw new ToolError(`${path} is not JSON.`, exitCodes.usage, { cause: error });
  }
}
