import { fileURLToPath } from 'node:url';
import { _, Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { build } from 'esbuild';
import { isDateTime } from '../date-time.ts';
import type { CatalogOperation } from './catalog.ts';
import { HEADER, quote } from './print.ts';
import { REFERENCE, type Schema } from './schema.ts';
import type { ContractSource } from './source.ts';

const CONTRACTS = fileURLToPath(new URL('..', import.meta.url));
const BUNDLE = 'svc';

interface Target {
  /** Key in the table: the operation, or operation and status. */
  readonly key: string;
  readonly model: string;
}

interface Targets {
  readonly request: readonly Target[];
  readonly response: readonly Target[];
}

/**
 * The validators of each group, compiled in advance: ajv at run time costs a second of start and needs `new Function`.
 * Each file is self-contained and imports nothing from ajv. The loader names all groups, also where only `some` are compiled.
 */
export async function emitValidators(
  source: ContractSource,
  some?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const groups = Object.keys(source.catalog.groups);
  for (const group of some ?? groups) {
    const targets = groupTargets(source.catalog.operations.filter((operation) => operation.group === group));
    files.set(`${group}.js`, await validatorModule(source, targets, group));
    files.set(`${group}.d.ts`, validatorTypes(targets));
  }
  files.set('load.ts', loader(groups));
  return files;
}

function groupTargets(operations: readonly CatalogOperation[]): Targets {
  return {
    request: operations.flatMap(({ id, request }) =>
      request?.schema != null ? [{ key: id, model: request.schema }] : [],
    ),
    response: operations.flatMap(({ id, responses }) =>
      responses.flatMap(({ status, schema }) =>
        schema === null ? [] : [{ key: `${id}:${status}`, model: schema }],
      ),
    ),
  };
}

async function validatorModule(source: ContractSource, targets: Targets, group: string): Promise<string> {
  const models = [...new Set([...targets.request, ...targets.response].map(({ model }) => model))];
  const ajv = compiler(source);
  const code = standalone.default(
    ajv,
    Object.fromEntries(models.map((model) => [`validate${model}`, `${BUNDLE}${REFERENCE}${model}`])),
  );
  return bundle(
    [
      "import { isDateTime } from './date-time.ts';",
      "const formats = { 'date-time': isDateTime };",
      // Only the tables below are exported, so that callers find validators in one way.
      code.replaceAll(/^export const /gm, 'const ').replaceAll(/;export const /g, ';const '),
      `export const requestValidators = ${tableLiteral(targets.request)};`,
      `export const responseValidators = ${tableLiteral(targets.response)};`,
    ].join('\n'),
    group,
  );
}

function compiler({ models }: ContractSource): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    ownProperties: true,
    allErrors: false,
    inlineRefs: false,
    discriminator: true,
    validateFormats: true,
    code: { source: true, esm: true, formats: _`formats` },
  });
  // A bare function makes the standalone code call `formats['date-time']` itself.
  ajv.addFormat('date-time', isDateTime);
  ajv.addVocabulary(['x-svc-max-bytes', 'x-svc-sparse', 'x-svc-binary', 'x-svc-verbatim']);
  const $defs = Object.fromEntries(
    [...models.values()].map(({ name, schema }) => [name, withoutTexts(schema)]),
  );
  return ajv.addSchema({ $id: BUNDLE, $defs });
}

/** The schema that a validator reads: descriptions and stability would only make the file larger. */
function withoutTexts(schema: Schema): Schema {
  const {
    description: _text,
    examples: _examples,
    title: _title,
    'x-svc-preview': _stability,
    'x-svc-preview-values': _values,
    ...rest
  } = schema;
  const named = (all: Readonly<Record<string, Schema>>) =>
    Object.fromEntries(Object.entries(all).map(([name, each]) => [name, withoutTexts(each)]));
  const { properties, items, additionalProperties: further, propertyNames, anyOf } = rest;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: named(properties) }),
    ...(items === undefined ? {} : { items: withoutTexts(items) }),
    ...(typeof further === 'object' ? { additionalProperties: withoutTexts(further) } : {}),
    ...(propertyNames === undefined ? {} : { propertyNames: withoutTexts(propertyNames) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withoutTexts) }),
  };
}

/** Bundles the helpers that ajv needs at run time into the file. */
async function bundle(contents: string, group: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: CONTRACTS, sourcefile: `${group}-validators.ts`, loader: 'ts' },
    absWorkingDir: CONTRACTS,
    bundle: true,
    // The output contains paths: resolve a linked node_modules like a real one.
    preserveSymlinks: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['main'],
    target: 'es2022',
    legalComments: 'none',
    minifySyntax: true,
    minifyWhitespace: true,
    charset: 'ascii',
    lineLimit: 200,
    tsconfigRaw: {},
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`no validators came out for ${group}`);
  return `${HEADER}\n${file.text}`;
}

function tableLiteral(entries: readonly Target[]): string {
  return `{ ${entries.map(({ key, model }) => `${JSON.stringify(key)}: validate${model}`).join(', ')} }`;
}

function typeMembers(entries: readonly Target[]): string {
  return entries.map(({ key, model }) => `  readonly ${quote(key)}: Validator<Models.${model}>;\n`).join('');
}

function validatorTypes({ request, response }: Targets): string {
  return [
    HEADER,
    '',
    "import type { Validator } from '../../validator.ts';",
    "import type * as Models from '../models.ts';",
    '',
    '/** By operation id: its JSON body. */',
    `export declare const requestValidators: {\n${typeMembers(request)}};`,
    '',
    '/** By operation id, colon, status: the JSON body of the answer. */',
    `export declare const responseValidators: {\n${typeMembers(response)}};`,
    '',
  ].join('\n');
}

function loader(groups: readonly string[]): string {
  const rows = groups.map((group) => `  ${group}: () => import('./${group}.js'),\n`);
  return [
    HEADER,
    '',
    "import type { Validator } from '../../validator.ts';",
    "import type { Group } from '../groups.ts';",
    '',
    'export interface GroupValidators {',
    '  /** By operation id: its JSON body. */',
    '  readonly requestValidators: Readonly<Record<string, Validator>>;',
    '  /** By operation id, colon, status: the JSON body of the answer. */',
    '  readonly responseValidators: Readonly<Record<string, Validator>>;',
    '}',
    '',
    '/** The validators of one group, loaded only when that group is served. */',
    'export const loadValidators: Readonly<Record<Group, () => Promise<GroupValidators>>> = {',
    `${rows.join('')}};`,
    '',
  ].join('\n');
}
