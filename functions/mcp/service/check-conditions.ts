import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';

const FILTER_ARGUMENT = 'filter';

const NESTED =
  'must be a condition, because a group holds no groups: use in for several values of one path, or one call for each group';

/**
 * Refuses a node of a filter that is neither a condition nor a group. The operation ignores such a node or a part of it, as clients that
 * write every member send it; a model would take all records for the answer. An empty filter restricts nothing.
 */
export function checkConditions(given: JsonObject): void {
  const filter = given[FILTER_ARGUMENT];
  if (!isJsonObject(filter) || Object.values(filter).every((value) => value === null)) return;
  const pointer = `/${FILTER_ARGUMENT}`;
  const { children } = filter;
  if (!isJsonList(children)) {
    checkCondition(filter, pointer);
    return;
  }
  if (children.length === 0) throw invalidMember(`${pointer}/children`, 'must have a condition');
  if (hasCondition(filter))
    throw invalidMember(pointer, 'must be a condition or a group: put path, op and value into children');
  children.forEach((child, at) => {
    if (isJsonObject(child)) checkCondition(child, `${pointer}/children/${at}`);
  });
}

/** Refuses a group in a group. */
export function checkGroups(given: JsonObject): void {
  const filter = given[FILTER_ARGUMENT];
  const children = isJsonObject(filter) ? filter['children'] : undefined;
  if (!isJsonList(children)) return;
  const at = children.findIndex((child) => isJsonObject(child) && !isAbsent(child['children']));
  if (at !== -1) throw invalidMember(`/${FILTER_ARGUMENT}/children/${at}`, NESTED);
}

function checkCondition(node: JsonObject, pointer: string): void {
  if (!isAbsent(node['combine']))
    throw invalidMember(pointer, 'must have children beside combine, or a condition without combine');
  if (isAbsent(node['path'])) throw invalidMember(pointer, 'must have path beside op and value');
}

const hasCondition = ({ path, op, value }: JsonObject) =>
  !(isAbsent(path) && isAbsent(op) && isAbsent(value));

const isAbsent = (value: Json | undefined) =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
