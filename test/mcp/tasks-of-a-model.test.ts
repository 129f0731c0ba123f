import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describedPlace, type Flaw, flawed, flaws, opened } from './model-flaws.ts';
import { isPlanned, type Solver, solve, solvesWithout, usedMembers } from './model-solver.ts';
import { modelTasks } from './model-tasks.ts';
import { fillWorld, worldSettings } from './model-tasks-world.ts';
import { callTool, type McpService, startMcpService } from './service-stage.ts';
import { toolList } from './tool-list.ts';

/**
 * Judges the tools by use: a planner of rules makes the calls of each task from the list alone, the service answers them, and the
 * answers solve the task by their values, by their text, and by their lines.
 */

let service: McpService;
let solver: Solver;

beforeAll(async () => {
  service = await startMcpService({ settings: worldSettings });
  solver = { world: await fillWorld(service), tools: (await toolList(service)).tools };
});

afterAll(() => service.close());

const named = modelTasks.map((task) => [task.words, task] as const);

test('25 tasks use every tool', () => {
  const names = solver.tools.map(({ name }) => name);
  expect(names.length).toBe(29);
  expect(modelTasks.length).toBe(25);
  const used = modelTasks.flatMap(({ steps }) => steps.map(({ tool }) => tool));
  expect([...new Set(used)].sort()).toEqual(names.sort());
});

test.each(named)('%s', async (_, task) => {
  await solve(solver, task, 'first');
  const idle: string[] = [];
  for (const [at, member] of usedMembers(task).entries()) {
    const solved = await solvesWithout(solver, task, member, `less-${at}`).catch(() => false);
    if (solved) idle.push(`${member.step.words}: ${member.place.join('/')}`);
  }
  expect(idle, 'members that the task does not need').toEqual([]);
  // The trials left a world in which the task is solved.
  await solve(solver, task, 'again');
});

test('a condition without its path does not find every record', async () => {
  const given = { collection: 'notes', filter: { op: 'gt', value: 2008 } };
  const answer = await callTool(service, 'writer', 'svc_records_query_v1', given);
  expect(answer).toMatchObject({ isError: true });
  expect(JSON.stringify(answer['content'])).toContain('/filter: must have path beside op and value');
});

describe('the check finds', () => {
  const members = modelTasks.flatMap((task) => usedMembers(task));
  // A resource describes those of `advanced`.
  const listed = members.filter(({ place }) => place[0] !== 'advanced');
  const steps = modelTasks.flatMap((task) => task.steps);

  /** The members whose flaw the planner does not notice. */
  async function unnoticed(
    flaw: Flaw,
    placeOf = (place: readonly string[]) => place,
  ): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { step, place } of listed) {
      const tools = flawed(solver.tools, step.tool, placeOf(place), flaw);
      if (await isPlanned({ ...solver, tools }, step)) found.push(`${step.tool}: ${place.join('/')}`);
    }
    return found;
  }

  test('nothing where nothing is wrong', async () => {
    expect((await unnoticed(flaws.none)).length).toBe(listed.length);
    expect(listed.length).toBeGreaterThan(100);
    expect(members.length).toBe(listed.length + 1);
  });

  test('a schema without a used member', async () => {
    expect(await unnoticed(flaws.absent)).toEqual([]);
  });

  test('a member without its description', async () => {
    expect(await unnoticed(flaws.untold, describedPlace)).toEqual([]);
    expect(await unnoticed(flaws.emptied, describedPlace)).toEqual([]);
  });

  test('a closed set without its values', async () => {
    const choices = steps.filter((step) => JSON.stringify(step.with).includes('"choice"'));
    expect(choices.length).toBeGreaterThan(10);
    const tools = solver.tools.map((tool) => ({ ...tool, inputSchema: opened(tool.inputSchema) }));
    for (const step of choices) expect(await isPlanned({ ...solver, tools }, step), step.words).toBe(false);
  });

  test('a tool without its description', async () => {
    for (const step of steps) {
      const tools = solver.tools.map((tool) =>
        tool.name === step.tool ? { ...tool, name: 'tool', description: '' } : tool,
      );
      expect(await isPlanned({ ...solver, tools }, step), step.words).toBe(false);
    }
  });

  test('rare members that no resource describes', async () => {
    const rare = members.find(({ place }) => place[0] === 'advanced');
    if (rare === undefined) throw new Error('no task has a rare member');
    const tools = flawed(solver.tools, rare.step.tool, ['advanced'], flaws.untold);
    expect(await isPlanned({ ...solver, tools }, rare.step)).toBe(false);
  });

  const [bread, history, long] = ['note about bread', 'happened in the run', 'first 25 notes'].map((words) =>
    modelTasks.find((task) => task.words.includes(words)),
  );

  test.each([
    ['ids', bread, /"?id"?(?=[:=])/g],
    ['texts', bread, /How we made/g],
    ['the place to go on', history, /"?sequenceId"?(?=[:=])/g],
    ['the next offset', long, /"answerOffset"/g],
    ['the continuation token', long, /"continuationToken"/g],
  ] as const)('a text without %s', async (_, task, pattern) => {
    if (task === undefined) throw new Error('there is no such task');
    const texts = (text: string) => text.replaceAll(pattern, 'x');
    await expect(solve({ ...solver, texts }, task, 'blind')).rejects.toThrow(/text/);
    await solve(solver, task, 'seeing');
  });
});
