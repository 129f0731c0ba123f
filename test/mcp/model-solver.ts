import { isDeepStrictEqual } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import found from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import type { Json, JsonObject } from '../../functions/kernel/canonical-json.ts';
import { answerText } from '../../functions/mcp/service/answer-text.ts';
import { itemsName } from '../../functions/mcp/service/mapped-answer.ts';
import { valueAtPath } from '../../functions/mcp/service/member-paths.ts';
import type { ToolMap } from '../../functions/mcp/service/tool-map.ts';
import {
  type Group,
  groupsOfText,
  groupsOfValue,
  missingIn,
  valueIn,
  withoutPlace,
} from './model-answers.ts';
import { type ListedTool, planCall, type Schema, type Sources } from './model-planner.ts';
import type { Members, ModelTask, Step, Wish } from './model-tasks-types.ts';
import type { ModelWorld } from './model-tasks-world.ts';
import { callTool, endOf, type McpService } from './service-stage.ts';

/** Solves tasks against the service, and says where a call or an answer falls short. */

export interface Solver {
  readonly world: ModelWorld;
  readonly tools: readonly ListedTool[];
  /** Changes the texts of answers before anything reads them: for planted bugs. */
  readonly texts?: (text: string) => string;
}

/** What an answer states, as values, as its text, and as the lines of its list. */
export interface StepAnswer {
  readonly values: readonly Group[];
  readonly texts: readonly (readonly Group[])[];
  readonly isRefused: boolean;
}

/** By the name of a tool, how its arguments become the request of the operation. */
export const maps: ReadonlyMap<string, ToolMap> = new Map(
  (found.definitions as unknown as readonly { definition: { name: string }; map?: ToolMap }[]).flatMap(
    ({ definition, map }) => (map === undefined ? [] : [[definition.name, map] as const]),
  ),
);

/** The schema of rare arguments, read from its resource. */
async function readSchema(service: McpService, uri: string): Promise<Schema> {
  const { result = {} } = await service.ask('writer', 'resources/read', { uri });
  const [content] = result['contents'] as readonly { text: string }[];
  return (JSON.parse(content?.text ?? '{}') as { advanced: Schema }).advanced;
}

/** The call that the task stores, with the values that it reads from earlier texts. */
export function storedCall({ with: members }: Pick<Step, 'with'>, readText: Sources['readText']): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([name, wish]) => [name, storedValue(wish, readText)]),
  );
}

function storedValue(wish: Wish, readText: Sources['readText']): Json {
  if (wish.kind === 'value') return wish.value;
  if (wish.kind === 'choice') return wish.isOneOfSeveral ? [wish.value] : wish.value;
  if (wish.kind === 'read') return readText(wish.name, wish.beside);
  if (wish.kind === 'parts') return storedCall({ with: wish.parts }, readText);
  return wish.items.map((item: Members) => storedCall({ with: item }, readText));
}

/** Reads a value from the texts of the earlier answers, the last first. Text and lines have to say the same. */
export function readerOf(world: ModelWorld, earlier: readonly StepAnswer[]): Sources['readText'] {
  return (name, beside) => {
    if (name === 'runId') return world.runId;
    for (const { texts } of earlier.toReversed()) {
      const values = texts.map((groups) => valueIn(groups, name, beside));
      const [first] = values;
      if (values.some((each) => !isDeepStrictEqual(each, first)))
        throw new Error(`the text and its lines differ in ${name}: ${JSON.stringify(values)}`);
      if (first !== undefined) return first;
    }
    throw new Error(`no text states ${name} beside ${String(beside)}`);
  };
}

type Result = Readonly<Record<string, Json>>;

/** Makes the call, and waits for the end of the work that it starts. The results in their order; of work the second is that of its end. */
export async function resultsOf(
  { service, work }: ModelWorld,
  step: Pick<Step, 'tool' | 'works'>,
  given: JsonObject,
): Promise<readonly Result[]> {
  const called = (await callTool(service, 'writer', step.tool, given)) as Result;
  if (called['resultType'] !== 'task') return [called];
  if (step.works) await work();
  const { result } = await endOf(service, 'writer', called['taskId'] as string);
  return [called, (result ?? {}) as Result];
}

export const textsOf = (result: Result): readonly string[] =>
  ((result['content'] ?? []) as readonly { readonly text: string }[]).map(({ text }) => text);

/** Makes the call, and reads its answer. */
async function answerOf(
  { world, texts = (text) => text }: Pick<Solver, 'world' | 'texts'>,
  step: Pick<Step, 'tool' | 'works'>,
  given: JsonObject,
): Promise<StepAnswer> {
  const [called = {}, ended] = await resultsOf(world, step, given);
  const result = ended ?? called;
  const values = result['structuredContent'] ?? null;
  const sent = textsOf(result);
  const lines = ended === undefined ? linesOf(step.tool, values, given) : null;
  const all = [sent, ...(lines === null ? [] : [[lines, ...sent.slice(1)]])];
  return {
    values: groupsOfValue(values),
    texts: all.map((each) => each.flatMap((text) => groupsOfText(texts(text)))),
    isRefused: result['isError'] === true,
  };
}

/** The lines of a list, which a longer answer has in place of its JSON. */
function linesOf(tool: string, values: Json, given: JsonObject): string | null {
  const map = maps.get(tool);
  const name = map === undefined ? null : itemsName(map);
  if (map === undefined || name === null || values === null) return null;
  const shown = values as JsonObject;
  const items = (valueAtPath(shown, name) ?? []) as readonly Json[];
  const { nextOffset } = shown;
  const offset = typeof nextOffset === 'number' ? nextOffset - items.length : 0;
  const count = offset + items.length + (typeof nextOffset === 'number' ? 1 : 0);
  return answerText(map, (given['include'] ?? []) as readonly string[])({ shown, items, offset, count });
}

/** What the answer of a step lacks; empty where it solves the step from its values, its text and its lines. */
function faultsOf({ finds }: Step, answer: StepAnswer, earlier: readonly StepAnswer[]): readonly string[] {
  if (answer.isRefused) return ['the call is refused'];
  const before = earlier.at(-1);
  const ofValues = missingIn(answer.values, finds, before?.values ?? []);
  const ofTexts = answer.texts.flatMap((groups) =>
    missingIn(groups, finds, before?.texts[0] ?? []).map((each) => `text: ${each}`),
  );
  return [...ofValues, ...ofTexts];
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });

function fits({ inputSchema }: ListedTool, given: JsonObject): boolean {
  return ajv.compile(inputSchema)(given);
}

/** The call with the name of the trial, so that trials do not find the work of each other. */
export function ofTrial(given: JsonObject, trial: string): JsonObject {
  return JSON.parse(JSON.stringify(given).replaceAll('TRIAL', trial)) as JsonObject;
}

/** Solves the task with the planner. Throws at the first call or answer that falls short. */
export async function solve(solver: Solver, task: ModelTask, trial: string): Promise<readonly StepAnswer[]> {
  const { world, tools } = solver;
  const answers: StepAnswer[] = [];
  for (const step of task.steps) {
    const readText = readerOf(world, answers);
    const sources = { readText, readSchema: (uri: string) => readSchema(world.service, uri) };
    const stored = storedCall(step, readText);
    const { tool, given } = await planCall(tools, step, sources);
    if (tool.name !== step.tool) throw new Error(`${step.words}: leads to ${tool.name}`);
    if (!isDeepStrictEqual(given, stored))
      throw new Error(`${step.words}: planned ${JSON.stringify(given)}, stored ${JSON.stringify(stored)}`);
    if (!fits(tool, given)) throw new Error(`${step.tool}: the schema refuses ${JSON.stringify(given)}`);
    const answer = await answerOf(solver, step, ofTrial(given, trial));
    const faults = faultsOf(step, answer, answers);
    if (faults.length > 0) throw new Error(`${step.words}: ${faults.join('; ')}`);
    answers.push(answer);
  }
  return answers;
}

/** A member that a step uses, by its place in the call. */
export interface UsedMember {
  readonly step: Step;
  readonly place: readonly string[];
}

export function usedMembers({ steps }: ModelTask): readonly UsedMember[] {
  const distinct = steps.filter((step, at) => steps.findIndex((other) => other.with === step.with) === at);
  return distinct.flatMap((step) => placesOf(step.with).map((place) => ({ step, place })));
}

function placesOf(members: Members): readonly (readonly string[])[] {
  return Object.entries(members).flatMap(([name, wish]) => [
    ...(name === 'advanced' ? [] : [[name]]),
    ...placesBelow(wish).map((place) => [name, ...place]),
  ]);
}

function placesBelow(wish: Wish): readonly (readonly string[])[] {
  if (wish.kind === 'parts') return placesOf(wish.parts);
  if (wish.kind !== 'each') return [];
  return wish.items.flatMap((item, at) => placesOf(item).map((place) => [String(at), ...place]));
}

/** Whether the stored calls still solve the task without the member. */
export async function solvesWithout(
  solver: Solver,
  task: ModelTask,
  { step: changed, place }: UsedMember,
  trial: string,
): Promise<boolean> {
  const answers: StepAnswer[] = [];
  for (const step of task.steps) {
    const whole = storedCall(step, readerOf(solver.world, answers));
    const given = step.with === changed.with ? withoutPlace(whole, place) : whole;
    const tool = solver.tools.find(({ name }) => name === step.tool);
    if (tool === undefined || !fits(tool, given)) return false;
    const answer = await answerOf(solver, step, ofTrial(given, trial));
    if (faultsOf(step, answer, answers).length > 0) return false;
    answers.push(answer);
  }
  return true;
}

/** Whether the planner makes the stored call of the step. Values that the step reads from earlier texts are stand-ins. */
export async function isPlanned({ world, tools }: Solver, step: Step): Promise<boolean> {
  const readText = (name: string) => (name === 'answerOffset' ? 1 : name);
  const sources = { readText, readSchema: (uri: string) => readSchema(world.service, uri) };
  const made = await planCall(tools, step, sources).catch(() => null);
  return made?.tool.name === step.tool && isDeepStrictEqual(made.given, storedCall(step, readText));
}
