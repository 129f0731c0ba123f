import { expect, test } from 'vitest';
import contract from '../../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { ToolDefinition } from '../catalog.ts';
import { definitionFaults, faultsWithin } from '../definitions.ts';
import { plainInstructions, readingInstructions } from './instructions.ts';
import { cancelDefinition, getDefinition, plainDefinition } from './plain-definitions.ts';

const ofTasks = contract.definitions.flatMap((each) =>
  each.exposure === 'task' ? [each.definition as unknown as ToolDefinition] : [],
);

test('each tool for durable work has a plain form, which takes the same arguments', () => {
  expect(ofTasks).toHaveLength(12);
  for (const definition of ofTasks) {
    const plain = plainDefinition(definition);
    const { description, outputSchema, inputSchema: _input, ...rest } = definition;
    expect(plain).toMatchObject(rest);
    expect(propertiesOf(plain)).toEqual(expect.objectContaining(withoutWait(propertiesOf(definition))));
    expect(description, definition.name).toMatch(/ Runs as a task; its result is the finished job\.$/);
    expect(plain.description, definition.name).toMatch(
      / Waits up to 20 s for the end; svc_tasks_get_v1 waits on\.$/,
    );
    const before = Object.keys(outputSchema?.['properties'] as object).filter((name) => name !== 'part');
    expect(Object.keys(plain.outputSchema?.['properties'] as object)).toEqual([...before, 'task']);
    expect(plain.outputSchema).not.toHaveProperty('required');
  }
});

const propertiesOf = ({ inputSchema }: ToolDefinition) => inputSchema['properties'] as JsonObject;
const withoutWait = ({ waitSeconds: _wait, ...others }: JsonObject) => others;

test('a tool with a wait of its own says how long a call without it waits', () => {
  const waiting = ofTasks.filter((each) => Object.hasOwn(propertiesOf(each), 'waitSeconds'));
  expect(waiting.map(({ name }) => name)).toEqual(['svc_execution_start_run_v1']);
  for (const each of waiting) {
    expect(propertiesOf(each)['waitSeconds']).toMatchObject({ default: 0, maximum: 20 });
    expect(propertiesOf(plainDefinition(each))['waitSeconds']).toMatchObject({ default: 20, maximum: 20 });
  }
});

test('the answer is described by its first level', () => {
  const outputSchema = {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['a'] },
      result: { type: ['object', 'null'], properties: { items: { type: 'array' } } },
      any: {},
      part: { type: 'object' },
    },
  };
  const plain = plainDefinition({ name: 'n', description: 'd', inputSchema: {}, outputSchema });
  expect(plain.outputSchema?.['properties']).toEqual({
    status: { type: 'string', enum: ['a'] },
    result: { type: ['object', 'null'] },
    any: {},
    task: {
      type: 'object',
      properties: { taskId: { type: 'string' }, runId: { type: 'string' }, status: { type: 'string' } },
    },
  });
  const { outputSchema: ofNone } = plainDefinition({ name: 'n', description: 'd', inputSchema: {} });
  expect(Object.keys(ofNone?.['properties'] as object)).toEqual(['task']);
});

test('the tools that go on keep the rules for definitions, and say whether they change anything', () => {
  const both = [getDefinition, cancelDefinition];
  expect(definitionFaults(both)).toEqual([]);
  expect(faultsWithin([plainInstructions, readingInstructions])).toEqual([]);
  expect(plainInstructions).toContain(getDefinition.name);
  expect(both.map(({ name }) => name)).toEqual(['svc_tasks_get_v1', 'svc_tasks_cancel_v1']);
  expect(both.map(({ annotations }) => annotations)).toMatchObject([
    { readOnlyHint: true },
    { readOnlyHint: false, destructiveHint: true },
  ]);
  expect(both.map(({ inputSchema }) => inputSchema)).toMatchObject([
    { required: ['taskId'], additionalProperties: false },
    { required: ['taskId'], additionalProperties: false },
  ]);
  expect(getDefinition.inputSchema['properties']).toMatchObject({
    waitSeconds: { type: 'number', minimum: 0, maximum: 20, default: 20 },
  });
});
