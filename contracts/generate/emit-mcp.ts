import { createHash } from 'node:crypto';
import { type CatalogOperation, type CatalogParameter, canonicalRoute, routeParameters } from './catalog.ts';
import { KEY_ARGUMENT, keyParameter, keySchema, modelOf } from './mcp/members.ts';
import { type MappedTool, mappedTool } from './mcp/tool.ts';
import type { WrittenMap } from './mcp/types.ts';
import { HEADER } from './print.ts';
import { type Json, nullableBranch, REFERENCE, referenceName, type Schema, typesOf, walk } from './schema.ts';
import type { ContractSource } from './source.ts';

/**
 * The catalog of the MCP endpoint: the definitions that models read. Every text in it comes from the contract, so that no
 * value of a caller ever stands in one.
 */

/** The argument of every tool that reads on in an answer which is longer than one result. */
const OFFSET_ARGUMENT = 'answerOffset';

interface McpDefinition {
  readonly operationId: string;
  readonly group: string;
  readonly exposure: 'tool' | 'task' | 'resource';
  readonly definition: Json;
  /** How the service makes a request of the arguments, and a result of the answer. Absent: they are the same. */
  readonly map?: WrittenMap;
  /** The schema of the argument `advanced`. */
  readonly advanced?: Json;
}

/** @testonly */
export function mcpDefinitions(source: ContractSource): readonly McpDefinition[] {
  return source.catalog.operations.flatMap((operation): McpDefinition[] => {
    const { id: operationId, group, mcp } = operation;
    const { exposure } = mcp;
    if (exposure === 'none') return [];
    if (exposure === 'resource') return [{ operationId, group, exposure, definition: resourceOf(operation) }];
    const mapped = mappedTool(source, operation);
    const more = mapped === null ? {} : { map: mapped.map };
    const advanced = mapped === null || mapped.advanced === null ? {} : { advanced: mapped.advanced };
    return [
      { operationId, group, exposure, definition: toolOf(source, operation, mapped), ...more, ...advanced },
    ];
  });
}

/** `definitions.json`: all definitions, and the hash by which a client sees that they changed. */
export function emitMcpDefinitions(source: ContractSource): object {
  const definitions = mcpDefinitions(source);
  const text = JSON.stringify([source.version, definitions]);
  return { contentVersion: createHash('sha256').update(text).digest('hex').slice(0, 16), definitions };
}

/** `exposures.ts`: what the settings need to know, without names and schemas: each function reads it at its start. */
export function emitMcpExposures({ catalog }: ContractSource): string {
  const exposed = catalog.operations.filter(({ mcp }) => mcp.exposure !== 'none');
  const rows = exposed.map(({ id, mcp }) => `  ${id}: ${mcp.defaultEnabled},\n`);
  return [
    HEADER,
    '',
    '/** The operations that the MCP endpoint can offer, in the order of the catalog, and whether it does without a setting. */',
    `export const mcpDefaults: Readonly<Record<string, boolean>> = {\n${rows.join('')}};`,
    '',
  ].join('\n');
}

function resourceOf({ id, summary, description, mcp, responses }: CatalogOperation): Json {
  const [answer] = responses;
  return {
    uri: mcp.uri,
    name: id,
    title: summary,
    description,
    mimeType: answer?.mediaType ?? 'application/json',
  };
}

function toolOf(source: ContractSource, operation: CatalogOperation, mapped: MappedTool | null): Json {
  const { id, summary, mcp, responses, stability } = operation;
  const isRead = operation.mutation === 'read';
  const answer = responses.find(({ status }) => status < 300);
  return {
    name: mcp.name,
    title: summary,
    description: descriptionOf(operation, mapped?.description),
    inputSchema: mapped?.inputSchema ?? inputSchemaOf(source, operation),
    ...(answer?.schema
      ? { outputSchema: mapped?.outputSchema ?? outputSchemaOf(source, answer.schema) }
      : {}),
    annotations: {
      readOnlyHint: isRead,
      // The other hints have a meaning for writes alone.
      ...(isRead ? {} : { destructiveHint: !isJobOfRead(source, operation), idempotentHint: false }),
      openWorldHint: mcp.exposure === 'task',
    },
    _meta: {
      'svc.runtime/operation': id,
      ...(stability === 'public' ? {} : { 'svc.runtime/stability': stability }),
    },
  };
}

/** Whether the job does what an operation does that only reads: its path is that one's, with `/jobs` behind it. */
function isJobOfRead({ catalog }: ContractSource, operation: CatalogOperation): boolean {
  const { method, path } = canonicalRoute(operation);
  if (operation.mcp.exposure !== 'task' || !path.endsWith('/jobs')) return false;
  const plain = path.slice(0, -'/jobs'.length);
  return catalog.operations.some(
    (other) =>
      other.mutation === 'read' &&
      other.routes.some((route) => route.method === method && route.path === plain),
  );
}

function descriptionOf(operation: CatalogOperation, ofMap?: string): string {
  const { stability, deprecation, mcp } = operation;
  const description = ofMap ?? operation.description;
  const task = mcp.exposure === 'task' ? ' Runs as a task; its result is the finished job.' : '';
  if (stability === 'preview') return `Preview, may change. ${description}${task}`;
  if (deprecation === null) return `${description}${task}`;
  return `Deprecated since ${deprecation.since}; use ${deprecation.replacement} instead. ${description}${task}`;
}

/** Parameters and members of the body side by side: a model fills in one flat object. */
function inputSchemaOf(source: ContractSource, operation: CatalogOperation): Json {
  const model = operation.request === null ? undefined : modelOf(source, operation.request.schema);
  const given = routeParameters(operation, canonicalRoute(operation)).filter(
    ({ in: place }) => place !== 'header',
  );
  const properties: Record<string, Schema> = {};
  for (const parameter of given) properties[parameter.name] = parameterSchema(parameter);
  for (const [name, schema] of Object.entries(model?.properties ?? {})) properties[name] ??= schema;
  const key = keyParameter(operation);
  if (key !== undefined) properties[KEY_ARGUMENT] ??= keySchema(source, key);
  if (operation.mcp.exposure === 'tool') properties[OFFSET_ARGUMENT] = offsetSchema;
  for (const name of operation.headerSafeFields) {
    const schema = properties[name];
    if (schema !== undefined && isClosed(source, schema)) properties[name] = mirrored(source, schema, name);
  }
  const required = [
    ...given.filter(({ required: isRequired }) => isRequired).map(({ name }) => name),
    ...(model?.required ?? []),
  ];
  const root: Schema = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
    additionalProperties: false,
  };
  return withDefinitions(source, root, withoutNull);
}

/** An absent argument means the same as null, and many models read only schemas of one type. */
function withoutNull(schema: Schema): Schema {
  return nullFree(schema as Json) as Schema;
}

function nullFree(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((each: Json) => nullFree(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { anyOf, ...own } = schema as Readonly<Record<string, Json>>;
  const branches = (anyOf ?? []) as readonly Json[];
  const others = branches.filter((branch) => (branch as { type?: Json }).type !== 'null');
  const [only, ...more] = others;
  // `anyOf` of a model and null: the model itself.
  const taken =
    anyOf === undefined
      ? {}
      : only !== undefined && more.length === 0
        ? (nullFree(only) as object)
        : { anyOf: nullFree(others) };
  const members = Object.entries(own).map(([keyword, value]) => [keyword, withoutNullIn(keyword, value)]);
  return { ...taken, ...Object.fromEntries(members) } as Json;
}

function withoutNullIn(keyword: string, value: Json): Json {
  if (keyword === 'default' || keyword === 'const') return value;
  if (!Array.isArray(value) || (keyword !== 'type' && keyword !== 'enum')) return nullFree(value);
  const rest = value.filter((each) => each !== null && !(keyword === 'type' && each === 'null'));
  const [only, ...more] = rest;
  return keyword === 'type' && only !== undefined && more.length === 0 ? only : rest;
}

const offsetSchema: Schema = {
  description: 'Offset at which to continue an answer longer than one result: its `part.nextOffset`.',
  type: 'integer',
  minimum: 0,
};

function parameterSchema({ schema, description }: CatalogParameter): Schema {
  return { ...schema, description };
}

/** Whether the contract lists the values: what a deployment names, such as a handler, is an id, and no class to route by. */
function isClosed(source: ContractSource, schema: Schema): boolean {
  const branch = nullableBranch(schema) ?? schema;
  const named = referenceName(branch);
  return (named === undefined ? branch : modelOf(source, named)).enum !== undefined;
}

/** A member that clients repeat in the header `Mcp-Param-<Name>`: it stands there itself, of one plain type. */
function mirrored(source: ContractSource, schema: Schema, name: string): Schema {
  const branch = nullableBranch(schema) ?? schema;
  const { $ref: _ref, ...own } = branch;
  const named = referenceName(branch);
  const whole: Schema = { ...(named === undefined ? {} : modelOf(source, named)), ...own };
  const type = typesOf(whole).find((each) => each !== 'null');
  const description = schema.description ?? whole.description;
  const header = name
    .replace(/[A-Z]/g, (letter) => `-${letter}`)
    .replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return {
    ...whole,
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
    'x-mcp-header': header,
  } as Schema;
}

/** The model of the answer, or a part of its text where the answer is longer than one result. */
function outputSchemaOf(source: ContractSource, model: string): Json {
  const part: Schema = {
    type: 'object',
    properties: {
      part: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          offset: { type: 'integer' },
          nextOffset: { type: ['integer', 'null'] },
          length: { type: 'integer' },
          hash: { type: 'string' },
        },
        required: ['text', 'offset', 'nextOffset', 'length', 'hash'],
      },
    },
    required: ['part'],
  };
  return withDefinitions(source, { anyOf: [{ $ref: `${REFERENCE}${model}` }, part] }, withoutTexts);
}

/** The schema with the models that it reaches below it, so that it needs no other document. */
function withDefinitions(
  source: ContractSource,
  schema: Schema,
  change: (schema: Schema) => Schema = (same) => same,
): Json {
  const reached = new Map<string, Schema>();
  const open: Schema[] = [schema];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { schema: each } of walk(next)) {
      const name = referenceName(each);
      if (name === undefined || reached.has(name)) continue;
      const model = modelOf(source, name);
      reached.set(name, model);
      open.push(model);
    }
  }
  const names = [...reached.keys()].sort();
  const definitions = Object.fromEntries(names.map((name) => [name, modelOf(source, name)]));
  const whole = change({ ...schema, ...(names.length > 0 ? { $defs: definitions } : {}) });
  return published(whole as Json);
}

/** Keywords of this contract, and examples, which would take the place of a model's own thought. */
const unpublished = /^x-svc-|^examples$|^discriminator$/;

function published(schema: Json): Json {
  return keywordsOf(schema, (keyword) => !unpublished.test(keyword));
}

/** Answers are for programs: without descriptions a list of tools is half as long. */
function withoutTexts(schema: Schema): Schema {
  return keywordsOf(schema as Json, (keyword) => keyword !== 'description' && keyword !== 'title') as Schema;
}

/** The schema with the keywords that `keeps` keeps, at all levels. Names of members are no keywords. */
function keywordsOf(schema: Json, keeps: (keyword: string) => boolean): Json {
  if (Array.isArray(schema)) return schema.map((each: Json) => keywordsOf(each, keeps));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema as Readonly<Record<string, Json>>).filter(([keyword]) =>
    keeps(keyword),
  );
  return Object.fromEntries(
    entries.map(([keyword, value]) => {
      if (keyword === 'enum' || keyword === 'const' || keyword === 'default') return [keyword, value];
      if (keyword !== 'properties' && keyword !== '$defs') return [keyword, keywordsOf(value, keeps)];
      const members = Object.entries(value as Readonly<Record<string, Json>>);
      return [keyword, Object.fromEntries(members.map(([name, each]) => [name, keywordsOf(each, keeps)]))];
    }),
  );
}
