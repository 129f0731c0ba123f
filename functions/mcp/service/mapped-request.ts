import { KEY_POINTER } from '../../http/operation-input.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isJsonObject } from '../../kernel/json-kinds.ts';
import { type JsonMember, membersOf, objectOf } from '../../kernel/json-slices.ts';
import { ADVANCED_ARGUMENT, KEY_ARGUMENT, type ToolMap } from './tool-map.ts';

type Members = { [name: string]: Json };

/** The request that the arguments mean: parameters and members of the body side by side. An argument of null is absent. */
export function mappedRequest({ takes, advanced, defaults }: ToolMap, given: JsonObject): JsonObject {
  const request: Members = {};
  const rare = given[ADVANCED_ARGUMENT];
  // Defaults first, so that an argument takes the place of its own.
  for (const [pointer, value] of Object.entries(defaults)) put(request, pointer, value);
  for (const [pointers, values] of [
    [takes, given],
    [advanced, isJsonObject(rare) ? rare : {}],
  ] as const)
    for (const [name, pointer] of Object.entries(pointers)) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined && value !== null) put(request, pointer, value);
    }
  return request;
}

function put(request: Members, pointer: string, value: Json): void {
  const [, ...names] = pointer.split('/');
  const last = names.pop() ?? '';
  let at = request;
  for (const name of names) {
    const below = { ...objectAt(at, name) };
    at[name] = below;
    at = below;
  }
  at[last] = value;
}

function objectAt(at: Members, name: string): JsonObject {
  const value = at[name];
  return isJsonObject(value) ? value : {};
}

/**
 * The members `names` of the request as JSON text, with the spelling of the arguments. Such an operation takes members of the first
 * level alone.
 */
export function spelledRequest(
  { takes, advanced, defaults }: ToolMap,
  text: string,
  names: readonly string[],
): string {
  const slices = membersOf(text);
  const rare = slices.find(({ name }) => name === ADVANCED_ARGUMENT)?.value ?? 'null';
  const ofRare = rare.startsWith('{') ? membersOf(rare) : [];
  return objectOf(
    names.map((name) => {
      const pointer = `/${name}`;
      const given = sliceOf(slices, takes, pointer) ?? sliceOf(ofRare, advanced, pointer);
      return { name, value: given ?? JSON.stringify(defaults[pointer] ?? null) };
    }),
  );
}

function sliceOf(
  slices: readonly JsonMember[],
  pointers: Readonly<Record<string, string>>,
  pointer: string,
): string | undefined {
  return slices.find(({ name, value }) => pointers[name] === pointer && value !== 'null')?.value;
}

/** The pointer into the arguments of a pointer into the request; `null` for a member that the tool does not have. */
export function argumentPointer({ takes, advanced }: ToolMap, of: string): string | null {
  const pointer = of === KEY_POINTER ? `/${KEY_ARGUMENT}` : of;
  const all = [
    ...Object.entries(takes).map(([name, to]) => ({ name: `/${name}`, to })),
    ...Object.entries(advanced).map(([name, to]) => ({ name: `/${ADVANCED_ARGUMENT}/${name}`, to })),
  ];
  const found = all.find(({ to }) => pointer === to || pointer.startsWith(`${to}/`));
  return found === undefined ? null : `${found.name}${pointer.slice(found.to.length)}`;
}

/** The refusal of the operation with the names of the tool. A fault of a member that the tool does not have is one of all arguments. */
export function refusalOfTool(map: ToolMap, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.extensions.errors === undefined) return error;
  const errors = error.extensions.errors.map((fault) => ({
    ...fault,
    pointer: argumentPointer(map, fault.pointer) ?? '',
  }));
  return new ServiceError(error.code, error.message, { ...error.extensions, errors }, { cause: error });
}

/** Parameters of the request by the names of their arguments. Those that the tool does not have are left out. */
export function mappedNames({ takes }: ToolMap, parameters: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(takes).flatMap(([name, pointer]) => {
      const value = parameters[pointer.slice(1)];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
