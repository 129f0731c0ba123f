import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { mappedRequest } from '../../functions/mcp/service/mapped-request.ts';
import { groupsOfText, groupsOfValue } from '../mcp/model-answers.ts';
import {
  maps,
  ofTrial,
  readerOf,
  resultsOf,
  type StepAnswer,
  storedCall,
  textsOf,
} from '../mcp/model-solver.ts';
import { modelTasks } from '../mcp/model-tasks.ts';
import type { ModelTask } from '../mcp/model-tasks-types.ts';
import { fillWorld, type ModelWorld, worldSettings } from '../mcp/model-tasks-world.ts';
import { taskOperations } from '../mcp/service-stage.ts';
import { toolList } from '../mcp/tool-list.ts';
import { medianNumber } from './load.ts';

/**
 * The tokens that a model reads and writes for each of 25 tasks, beside those of a checkout before the maps of tools: there the
 * arguments are the request of the operation. A token is counted as four bytes.
 */

type Stage = typeof import('../mcp/service-stage.ts');

interface TaskBytes {
  readonly task: string;
  readonly calls: number;
  /** The results as the wire carries them: values and text. */
  readonly answers: number;
  /** The text of the results alone, as a host without structured content reads them. */
  readonly texts: number;
}

const BYTES_PER_TOKEN = 4;

export async function benchMcpTokens(before: string | undefined): Promise<object> {
  const now = await measured('.', mapped);
  if (before === undefined) return { bench: 'mcp-tokens', now };
  const then = await measured(before, unmapped);
  return { bench: 'mcp-tokens', now, before: then, ratios: ratiosOf(now, then) };
}

interface Shape {
  readonly argumentsOf: (tool: string, given: JsonObject) => JsonObject;
  /** Whether an answer that is long comes in several calls. */
  readonly goesOn: boolean;
}

const mapped: Shape = { argumentsOf: (_, given) => given, goesOn: true };

/** The shape of tools without a map: the arguments are the request, and an answer is whole. */
const unmapped: Shape = {
  argumentsOf(tool, given) {
    const map = maps.get(tool);
    return map === undefined ? given : mappedRequest({ ...map, defaults: {} }, given);
  },
  goesOn: false,
};

async function measured(checkout: string, shape: Shape) {
  const path = join(resolve(checkout), 'test/mcp/service-stage.ts');
  const { startMcpService } = (await import(pathToFileURL(path).href)) as Stage;
  // The stage enables all tasks: an operation that is no task takes the place of each.
  const off = taskOperations.map((_, at) => [`Mcp:EnabledOperations:${at}`, 'searchRecords'] as const);
  const plain = await startMcpService({ settings: Object.fromEntries(off) });
  const usual = await toolList(plain);
  await plain.close();
  const service = await startMcpService({ settings: worldSettings });
  try {
    const world = await fillWorld(service);
    const list = await toolList(service);
    const shown = list.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    const tasks: TaskBytes[] = [];
    for (const task of modelTasks) tasks.push(await bytesOfTask(world, task, shape));
    return summary({
      list: list.bytes,
      shown: Buffer.byteLength(JSON.stringify(shown)),
      usual: usual.bytes,
      tasks,
    });
  } finally {
    await service.close();
  }
}

async function bytesOfTask(world: ModelWorld, task: ModelTask, shape: Shape): Promise<TaskBytes> {
  let [calls, answers, texts] = [0, 0, 0];
  const earlier: StepAnswer[] = [];
  for (const step of task.steps) {
    if ('answerOffset' in step.with && !shape.goesOn) continue;
    const stored = ofTrial(storedCall(step, readerOf(world, earlier)), 'measured');
    const given = shape.argumentsOf(step.tool, stored);
    const results = await resultsOf(world, step, given);
    const last = results.at(-1) ?? {};
    if (last['isError'] === true) throw new Error(`${task.words}: ${textsOf(last).join(' ')}`);
    calls += Buffer.byteLength(JSON.stringify({ name: step.tool, arguments: given }));
    answers += Buffer.byteLength(JSON.stringify(results));
    texts += Buffer.byteLength(results.flatMap(textsOf).join(''));
    earlier.push({
      values: groupsOfValue(last['structuredContent'] ?? null),
      texts: [textsOf(last).flatMap(groupsOfText)],
      isRefused: false,
    });
  }
  return { task: task.words, calls, answers, texts };
}

interface Measured {
  readonly list: number;
  /** Name, description and arguments alone, which most hosts show to a model. */
  readonly shown: number;
  /** The list of the tools that need no switch. */
  readonly usual: number;
  readonly tasks: readonly TaskBytes[];
}

const tokensOf = (bytes: number) => Math.round(bytes / BYTES_PER_TOKEN);

function summary({ list, shown, usual, tasks }: Measured) {
  const of = (name: 'calls' | 'answers' | 'texts') => tasks.map((task) => task[name]);
  const whole = tasks.map(({ calls, answers }) => list + calls + answers);
  const least = tasks.map(({ calls, texts }) => shown + calls + texts);
  const both = (all: readonly number[]) => ({
    median: tokensOf(medianNumber(all)),
    total: tokensOf(all.reduce((sum, each) => sum + each, 0)),
  });
  return {
    list: tokensOf(list),
    listOfUsualTools: tokensOf(usual),
    listShownToModel: tokensOf(shown),
    calls: both(of('calls')),
    answers: both(of('answers')),
    textsOfAnswers: both(of('texts')),
    task: both(whole),
    taskAsShownToModel: both(least),
    tasks: tasks.map(({ task, calls, answers, texts }) => ({
      task,
      calls: tokensOf(calls),
      answers: tokensOf(answers),
      texts: tokensOf(texts),
    })),
  };
}

type Summary = ReturnType<typeof summary>;

/** Tokens now through those before. */
function ratiosOf(now: Summary, then: Summary): object {
  const names = ['calls', 'answers', 'textsOfAnswers', 'task', 'taskAsShownToModel'] as const;
  const ratio = (one: number, other: number) => Math.round((one / other) * 100) / 100;
  return {
    list: ratio(now.list, then.list),
    ...Object.fromEntries(
      names.map((name) => [
        name,
        {
          median: ratio(now[name].median, then[name].median),
          total: ratio(now[name].total, then[name].total),
        },
      ]),
    ),
  };
}
