import { patternStatus } from './linear-pattern.ts';
import { modelRoles, type Roles } from './roles.ts';
import { type Model, nullableBranch, referenceName, type Schema, typesOf, walk } from './schema.ts';
import type { ContractSource } from './source.ts';

const KEYWORDS = new Set(
  (
    '$ref title description type const enum properties required additionalProperties propertyNames maxProperties ' +
    'minProperties items minItems maxItems uniqueItems minLength maxLength pattern format minimum maximum ' +
    'exclusiveMinimum exclusiveMaximum default anyOf oneOf discriminator examples deprecated ' +
    'x-svc-max-bytes x-svc-sparse x-svc-binary x-svc-verbatim x-svc-preview x-svc-preview-values'
  ).split(' '),
);

/** Names the emitters use themselves. */
const RESERVED = new Set(['JsonValue', 'JsonObject', 'Validator', 'Models']);

/**
 * The faults of the models against the profile, one sentence each. The profile is a part of JSON Schema 2020-12 that
 * every generator expresses alike: every value has a bound, requests are closed and answers are open.
 */
export function lintProfile(source: Pick<ContractSource, 'catalog' | 'models'>): readonly string[] {
  const roles = modelRoles(source);
  return [...source.models.values()].flatMap((model) => {
    const faults = [...lintModel(model), ...lintPlaces(model, source.models)];
    const [request, response] = [roles.request.has(model.name), roles.response.has(model.name)];
    if (!request && !response) faults.push('is not used by any operation');
    faults.push(...lintVerbatim(model, roles));
    if (model.schema.properties !== undefined) {
      if (request && response) faults.push('has members, so it must not be in both requests and answers');
      else
        faults.push(
          ...(request ? lintRequestModel(model.schema, source.models) : lintResponseModel(model.schema)),
        );
    }
    return faults.map((fault) => `model ${model.name}${fault.startsWith('/') ? '' : ' '}${fault}`);
  });
}

/** `x-svc-verbatim` marks an answer that a request sends back unchanged. */
function lintVerbatim(model: Model, { request, response }: Roles): string[] {
  return [...walk(model.schema)].flatMap(({ schema, pointer }) =>
    schema['x-svc-verbatim'] === undefined ||
    (request.has(model.name) && response.has(referenceName(schema) ?? ''))
      ? []
      : [`${pointer} may be x-svc-verbatim only in a request, for a model of answers`],
  );
}

function lintModel({ name, schema }: Model): string[] {
  const faults: string[] = [];
  if (!/^[A-Z][A-Za-z0-9]*$/.test(name) || RESERVED.has(name)) faults.push('has a bad name');
  if (schema.description === undefined) faults.push('needs a description');
  if (schema.examples?.length !== 1) faults.push('needs exactly one example');
  for (const [member, { description }] of Object.entries(schema.properties ?? {})) {
    if (description === undefined) faults.push(`/properties/${member} needs a description`);
  }
  for (const member of schema.required ?? []) {
    if (schema.properties?.[member] === undefined)
      faults.push(`requires ${member}, which it does not define`);
  }
  return faults;
}

function lintPlaces(model: Model, models: ReadonlyMap<string, Model>): string[] {
  const faults: string[] = [];
  for (const { schema, pointer } of walk(model.schema)) {
    const here = [
      ...lintKeywords(schema, pointer),
      ...lintBounds(schema, pointer),
      ...lintUnions(schema, models),
      ...(schema.pattern === undefined ? [] : lintPattern(schema.pattern)),
    ];
    faults.push(...here.map((fault) => `${pointer} ${fault}`.trimStart()));
  }
  return faults;
}

function lintKeywords(schema: Schema, pointer: string): string[] {
  const faults = Object.keys(schema)
    .filter((keyword) => !KEYWORDS.has(keyword))
    .map((keyword) => `uses the keyword ${keyword}, which the profile does not allow`);
  if (schema.format !== undefined && schema.format !== 'date-time')
    faults.push(`uses the format ${schema.format}`);
  if (pointer !== '' && schema.properties !== undefined)
    faults.push('must be a model of its own, because it has members');
  if (schema.type === 'null') return faults;
  const [first, second, ...more] = typesOf(schema);
  if (more.length > 0 || first === 'null' || (second !== undefined && second !== 'null')) {
    faults.push('may name one type, or one type and then null');
  }
  return faults;
}

function lintBounds(schema: Schema, pointer: string): string[] {
  const types = typesOf(schema);
  const closed =
    schema.enum !== undefined || schema.const !== undefined || pointer.endsWith('/propertyNames');
  const faults: string[] = [];
  if (
    types.includes('string') &&
    schema.maxLength === undefined &&
    !closed &&
    schema['x-svc-binary'] !== true
  ) {
    faults.push('needs a maxLength');
  }
  if (pointer.endsWith('/propertyNames') && schema.maxLength === undefined) faults.push('needs a maxLength');
  if (types.includes('array')) {
    if (schema.maxItems === undefined) faults.push('needs a maxItems');
    if (schema.items === undefined) faults.push('needs items');
  }
  const isMap = typeof schema.additionalProperties === 'object';
  if (isMap && (schema.maxProperties === undefined || schema.propertyNames === undefined)) {
    faults.push('is a map, so it needs maxProperties and propertyNames');
  }
  if (isMap && schema.properties !== undefined) faults.push('is a map and has members');
  const free =
    schema.additionalProperties === true ||
    (types.includes('object') ? isFreeObject(schema) : isAnything(schema));
  if (free && schema['x-svc-max-bytes'] === undefined)
    faults.push('is free JSON, so it needs x-svc-max-bytes');
  return faults;
}

/** A model that keeps members which the contract does not name: callers send them, and answers have them. */
function isOpenModel(schema: Schema): boolean {
  return schema.additionalProperties === true && schema['x-svc-max-bytes'] !== undefined;
}

function isFreeObject(schema: Schema): boolean {
  return (
    schema.properties === undefined &&
    typeof schema.additionalProperties !== 'object' &&
    schema.oneOf === undefined
  );
}

function isAnything(schema: Schema): boolean {
  const keywords = [schema.$ref, schema.type, schema.const, schema.enum, schema.anyOf, schema.oneOf];
  return keywords.every((word) => word === undefined) && schema.maxLength === undefined;
}

function lintUnions(schema: Schema, models: ReadonlyMap<string, Model>): string[] {
  const faults: string[] = [];
  if (schema.anyOf !== undefined && nullableBranch(schema)?.$ref === undefined) {
    faults.push('may use anyOf only for a model or null');
  }
  if (schema.oneOf === undefined) return faults;
  if (schema.type !== 'object') faults.push('has oneOf, so its type must be object');
  const discriminator = schema.discriminator?.propertyName;
  const branches = schema.oneOf.map((branch) => models.get(referenceName(branch) ?? '')?.schema);
  const values = branches.map((branch) =>
    branch?.required?.includes(discriminator ?? '')
      ? branch.properties?.[discriminator ?? '']?.const
      : undefined,
  );
  if (
    discriminator === undefined ||
    values.some((value) => typeof value !== 'string') ||
    new Set(values).size < values.length
  ) {
    faults.push('may use oneOf only for models that a required const member distinguishes');
  }
  return faults;
}

/** Faults of a regular expression: it must be anchored and need no more than linear time for any input. */
export function lintPattern(pattern: string): string[] {
  const faults =
    pattern.startsWith('^') && pattern.endsWith('$')
      ? []
      : [`has the pattern ${pattern}, which is not anchored`];
  return isLinear(pattern)
    ? faults
    : [...faults, `has the pattern ${pattern}, which is not proven to need linear time`];
}

const verdicts = new Map<string, boolean>();

/** Checks each pattern once: a check takes up to a second, and most patterns stand in many places. */
function isLinear(pattern: string): boolean {
  const known = verdicts.get(pattern) ?? patternStatus(pattern, 'u') === 'safe';
  verdicts.set(pattern, known);
  return known;
}

function lintRequestModel(schema: Schema, models: ReadonlyMap<string, Model>): string[] {
  const faults: string[] = [];
  const required = new Set(schema.required ?? []);
  if (schema.additionalProperties !== false && !isOpenModel(schema))
    faults.push('is part of a request, so it must have additionalProperties: false');
  if (schema['x-svc-sparse'] !== undefined)
    faults.push('is part of a request, so x-svc-sparse has no effect');
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const { type } = member;
    const collection = typesOf(member).includes('array') || typeof member.additionalProperties === 'object';
    // A collection that may be empty is optional; a collection that must not be empty is required.
    if (required.has(name) && collection && (member.minItems ?? member.minProperties ?? 0) === 0)
      faults.push(`/properties/${name} is an array or map that may be empty, so it must be optional`);
    if (!required.has(name) && !acceptsNull(member, models) && member['x-svc-binary'] !== true) {
      faults.push(
        `/properties/${name} is optional, so it must accept null${type === undefined ? '' : ` beside ${typesOf(member).join(', ')}`}`,
      );
    }
  }
  return faults;
}

function acceptsNull(schema: Schema, models: ReadonlyMap<string, Model>): boolean {
  const reference = models.get(referenceName(schema) ?? '');
  if (reference !== undefined) return acceptsNull(reference.schema, models);
  if (nullableBranch(schema) !== undefined || schema.enum?.includes(null) === true) return true;
  return typesOf(schema).includes('null') || isAnything(schema);
}

function lintResponseModel(schema: Schema): string[] {
  const faults: string[] = [];
  if (schema.additionalProperties !== undefined && !isOpenModel(schema))
    faults.push('is part of an answer, so it must stay open');
  if (schema['x-svc-sparse'] !== undefined) return faults;
  for (const name of Object.keys(schema.properties ?? {})) {
    if (schema.required?.includes(name) !== true)
      faults.push(`/properties/${name} is part of an answer, so it must be required`);
  }
  return faults;
}
