import { createRequire } from 'node:module';
import type { ParameterSpec } from '../../contracts/operation.ts';
import { textTable } from '../output.ts';
import type { ApiOperation, ApiParameter } from './catalog.ts';
import { takesForm } from './form.ts';

/** The text of `svc api <operationId> --help` below the options. */
export function operationHelp(operation: ApiOperation): string {
  const { entry, route, pathTemplate, parameters } = operation;
  const facts: [string, string][] = [
    ['Route', `${route.method} ${pathTemplate}`],
    ['Access', accessOf(operation)],
    ['Changes', entry.mutation === 'read' ? 'nothing' : `data (${entry.completion})`],
    ['Repeats', repeatsOf(operation)],
    [
      'Answers',
      entry.responses.map(({ status, schema }) => `${status} ${schema ?? 'without a body'}`).join(', '),
    ],
  ];
  if (entry.stability !== 'public') facts.push(['State', entry.stability]);
  const sections = ['', textTable(facts.map(([name, fact]) => [`  ${name}`, fact]))];
  if (parameters.length > 0)
    sections.push('', 'Parameters (--param name=value):', parameterTable(parameters));
  if (takesBody(operation)) sections.push('', ...bodyHelp(operation));
  return sections.join('\n');
}

export function takesBody({ entry, route }: ApiOperation): boolean {
  return entry.bodyLimitBytes !== null && !route.bodyFromParameters;
}

function accessOf({ entry }: ApiOperation): string {
  if (entry.authorizationClass === 'anonymous') return 'open to everybody';
  return `${entry.authorizationClass}: ${entry.accessOperation ?? 'any caller'}`;
}

function repeatsOf({ entry }: ApiOperation): string {
  const { requirement, location } = entry.idempotency;
  if (location === null) return entry.mutation === 'read' ? 'may be repeated' : 'no idempotency key';
  return `an idempotency key is ${requirement}: --idempotency-key, or in the body`;
}

function parameterTable(parameters: readonly ApiParameter[]): string {
  const rows = parameters.map(({ spec, in: place, description }) => [
    `  ${spec.name}${spec.prefix === true ? '…' : ''}`,
    place,
    spec.required ? 'required' : 'optional',
    formOf(spec),
    description,
  ]);
  return textTable(rows);
}

function formOf(spec: ParameterSpec): string {
  const kind = spec.enum === undefined ? spec.type : spec.enum.join('|');
  return spec.default === undefined ? kind : `${kind}, else ${spec.default}`;
}

function bodyHelp({ entry }: ApiOperation): string[] {
  const limit = `at most ${(entry.bodyLimitBytes ?? 0).toLocaleString('en')} bytes`;
  const how = takesForm(entry)
    ? '--part name=JSON, --part name=@file'
    : '--body JSON, --body @file, --body @-';
  const head = `Body (${how}): ${entry.requestSchema ?? 'bytes'}, ${entry.requestMediaType ?? ''}, ${limit}`;
  const members = entry.requestSchema === null ? [] : membersOf(entry.requestSchema);
  return members.length === 0 ? [head] : [head, textTable(members)];
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The members of a model, one row each. Reads the bundle on demand, to keep the start of other commands fast. */
function membersOf(model: string): string[][] {
  const read = createRequire(import.meta.url);
  const { $defs } = read('../../contracts/generated/schemas/svc-public.schema.json') as {
    readonly $defs: Readonly<Record<string, Schema>>;
  };
  const schema = $defs[model];
  return Object.entries(schema?.properties ?? {}).map(([name, member]) => [
    `  ${name}`,
    kindOf(member),
    schema?.required?.includes(name) === true ? 'required' : 'optional',
    member.description ?? '',
  ]);
}

function kindOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, '');
  if (schema.enum !== undefined) return schema.enum.filter((each) => typeof each === 'string').join('|');
  if (schema.anyOf !== undefined) return schema.anyOf.map(kindOf).filter(Boolean).join('|');
  const types = [schema.type ?? 'any'].flat().filter((type) => type !== 'null');
  return types
    .map((type) => (type === 'array' && schema.items ? `${kindOf(schema.items)}[]` : type))
    .join('|');
}
