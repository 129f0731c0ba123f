import type { OpenApi, OpenApiSchema } from '../../scripts/release-contract.ts';

/**
 * The promises of a release without its preview members: these may change or go in any release. A later version may not ask
 * for such a member, so one that has become required in a request is compared as it is.
 */
export interface Promised {
  readonly released: OpenApi;
  readonly now: OpenApi;
}

export function withoutPreview(released: OpenApi, now: OpenApi): Promised {
  const [before, after] = [structuredClone(released), structuredClone(now)];
  const all = reached(before);
  for (const [name, schema] of Object.entries(before.components.schemas))
    for (const member of previewIn(schema)) takeAway(member, schema, after.components.schemas[name]);
  dropValues(before, after);
  for (const [path, item] of Object.entries(before.paths))
    for (const [method, operation] of Object.entries(item)) {
      const gone = previewParameters(operation.parameters ?? []);
      drop(operation, gone);
      const later = after.paths[path]?.[method];
      if (later !== undefined) drop(later, gone);
    }
  // A model that only preview members have is as free as they are.
  const kept = reached(before);
  for (const name of all) if (!kept.has(name)) delete before.components.schemas[name];
  return { released: before, now: after };
}

/** The lines of an SDK without the preview members of the document that was released with it. */
export function surfaceWithoutPreview(surface: string, { paths, components }: OpenApi): string {
  const members = Object.entries(components.schemas).flatMap(([name, schema]) =>
    previewIn(schema).map((member) => `${name}.${member}`),
  );
  const values = Object.entries(components.schemas).flatMap(([name, schema]) =>
    previewValues(schema).map((value) => `${name}  = '${value}'`),
  );
  const goneValues = new Set(values.flatMap((each) => [each, `models.${each}`]));
  const parameters = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ operationId, parameters: all = [] }) =>
      previewParameters(all).map((name) => ({ operationId, name })),
    );
  const gone = new Set([
    ...members.flatMap((each) => [each, `models.${each}`]),
    ...parameters.map(({ operationId, name }) => `${pascal(operationId)}Parameters.${name}`),
  ]);
  return surface
    .split('\n')
    .filter((line) => !goneValues.has(line) && !gone.has(line.slice(0, Math.max(line.indexOf('  '), 0))))
    .map((line) => parameters.reduce(withoutParameter, line))
    .join('\n');
}

/** Python names the parameters of a call in its signature. */
function withoutParameter(line: string, { operationId, name }: { operationId: string; name: string }) {
  if (!line.includes(`.${snake(operationId)}  `)) return line;
  return line.replace(new RegExp(`, ${snake(name)}: (?:[^,()[\\]]|\\[[^\\]]*\\])*=None(?=[,)])`), '');
}

function pascal(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isPreview(schema: object | undefined): boolean {
  return schema !== undefined && Reflect.get(schema, 'x-svc-preview') === true;
}

function previewIn({ properties = {} }: Partial<OpenApiSchema>): readonly string[] {
  return Object.entries(properties).flatMap(([name, each]) => (isPreview(each) ? [name] : []));
}

function previewParameters(parameters: readonly { readonly name: string; readonly schema: object }[]) {
  return parameters.flatMap((each) => (isPreview(each) || isPreview(each.schema) ? [each.name] : []));
}

function requiredIn({ required = [] }: Partial<OpenApiSchema>): readonly string[] {
  return required;
}

function takeAway(member: string, released: OpenApiSchema, now: OpenApiSchema | undefined): void {
  const wasRequired = requiredIn(released).includes(member);
  without(released, member);
  const isAsked = now !== undefined && requiredIn(now).includes(member) && !wasRequired;
  if (now !== undefined && !isAsked) without(now, member);
}

function without(schema: OpenApiSchema, member: string): void {
  delete (schema.properties as Partial<OpenApiSchema['properties']> | undefined)?.[member];
  if (schema.required !== undefined) schema.required = schema.required.filter((each) => each !== member);
}

function drop(
  operation: { parameters?: OpenApi['paths'][string][string]['parameters'] },
  names: readonly string[],
) {
  if (operation.parameters === undefined || names.length === 0) return;
  Object.assign(operation, { parameters: operation.parameters.filter(({ name }) => !names.includes(name)) });
}

/**
 * A preview value of a vocabulary answers only callers that asked for what is preview, so an answer may have it, as a value that it
 * always had may not go.
 */
function dropValues(released: OpenApi, now: OpenApi): void {
  for (const [name, later] of Object.entries(now.components.schemas)) {
    const earlier = released.components.schemas[name];
    for (const schema of [earlier, later]) {
      if (schema?.enum === undefined) continue;
      const gone = new Set([...previewValues(earlier), ...(schema === later ? previewValues(later) : [])]);
      const promised = earlier?.enum?.filter((each) => !previewValues(earlier).includes(each)) ?? [];
      schema.enum = schema.enum.filter((each) => !gone.has(each) || promised.includes(each));
    }
  }
}

function previewValues(schema: OpenApiSchema | undefined): readonly (string | null)[] {
  const values: unknown = schema === undefined ? undefined : Reflect.get(schema, 'x-svc-preview-values');
  return Array.isArray(values) ? (values as string[]) : [];
}

/** The models that the operations use, also through others. */
function reached({ paths, components }: OpenApi): ReadonlySet<string> {
  const seen = new Set<string>();
  const { schemas, ...shared } = components;
  const open: unknown[] = [paths, shared];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    const reference: unknown = Reflect.get(node, '$ref');
    const name =
      typeof reference === 'string' ? /^#\/components\/schemas\/(.*)$/.exec(reference)?.[1] : undefined;
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      open.push(schemas[name]);
    }
    open.push(...Object.values(node));
  }
  return seen;
}
