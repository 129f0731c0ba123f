import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';

const FILTER_ARGUMENT = 'filter';

/**
 * Refuses a condition that compares and names no path. The operation ignores such a node, as clients that write every member send it; a
 * model that forgot the path would take all records for the answer.
 */
export function checkConditions(given: JsonObject): void {
  checkNode(given[FILTER_ARGUMENT], `/${FILTER_ARGUMENT}`);
}

function checkNode(node: Json | undefined, pointer: string): void {
  if (!isJsonObject(node)) return;
  const { path, op, value, children } = node;
  if (isJsonList(children)) children.forEach((child, at) => checkNode(child, `${pointer}/children/${at}`));
  else if (isAbsent(path) && !(isAbsent(op) && isAbsent(value)))
    throw invalidMember(pointer, 'must have path beside op and value');
}

const isAbsent = (value: Json | undefined) => value === undefined || value === null || value === '';
