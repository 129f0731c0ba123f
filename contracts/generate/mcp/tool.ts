import type { CatalogOperation } from '../catalog.ts';
import { type Json, nullableBranch, type Schema, typesOf } from '../schema.ts';
import type { ContractSource } from '../source.ts';
import { toolInput } from './input.ts';
import { modelOf } from './members.ts';
import { toolOutput } from './output.ts';
import { type Arguments, argumentOf, pointerOf, type ToolMap, type WrittenMap } from './types.ts';

/** The parts of a tool that its map decides. */
export interface MappedTool {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly outputSchema: Json;
  readonly advanced: Json | null;
  readonly map: WrittenMap;
}

/** @throws if the operation has no map. */
export function mappedTool(source: ContractSource, operation: CatalogOperation): MappedTool {
  const map = source.tools?.maps[operation.id];
  if (map === undefined) throw new Error(`${operation.id} has no map`);
  const answer = operation.responses.find(({ status }) => status < 300);
  const model = modelOf(source, answer?.schema ?? null);
  const isList = typesOf(model).includes('array') || map.answer?.items !== undefined;
  return {
    title: map.title ?? operation.summary,
    description: map.description,
    ...toolInput(source, operation, map, isList),
    outputSchema: toolOutput(source, model, map.answer ?? {}, operation.mcp.exposure),
    map: {
      ...writtenMap(map, typesOf(model).includes('array')),
      ...(operation.mcp.exposure === 'task' ? { nullable: nullableMembers(model) } : {}),
    },
  };
}

function writtenMap({ takes, advanced = {}, sets = {}, answer = {} }: ToolMap, isList: boolean): WrittenMap {
  const defaults = [...Object.entries(takes), ...Object.entries(advanced)].flatMap(([name, written]) => {
    const { default: value } = argumentOf(written);
    return value === undefined ? [] : [[pointerOf(name, written), value] as const];
  });
  return {
    takes: pointers(takes),
    advanced: pointers(advanced),
    defaults: { ...sets, ...Object.fromEntries(defaults) },
    answer,
    isList,
  };
}

function pointers(all: Arguments): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(all).map(([name, written]) => [name, pointerOf(name, written)]));
}

/** By name of a member of the answer, whether it may be null. */
function nullableMembers({ properties = {} }: Schema): Readonly<Record<string, boolean>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, allowsNull(schema)]));
}

function allowsNull(schema: Schema): boolean {
  const { type, enum: values, const: value, anyOf, oneOf, $ref: reference } = schema;
  if (typesOf(schema).includes('null') || nullableBranch(schema) !== undefined) return true;
  if (values !== undefined) return values.includes(null);
  // A schema without constraints allows any value, such as the result of a handler.
  return [type, value, anyOf, oneOf, reference].every((keyword) => keyword === undefined);
}
