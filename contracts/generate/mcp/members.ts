import { type CatalogOperation, type CatalogParameter, canonicalRoute, routeParameters } from '../catalog.ts';
import { nullableBranch, referenceName, type Schema } from '../schema.ts';
import type { ContractSource } from '../source.ts';

/** The argument that becomes the header `Idempotency-Key`. */
const KEY_ARGUMENT = 'idempotencyKey';

/** A member of a request: its schema, and whether each request has it. */
export interface RequestMember {
  readonly schema: Schema;
  readonly required: boolean;
}

type Members = Readonly<Record<string, RequestMember>>;

/** Parameters and members of the body side by side. A parameter stands before a member of the same name. */
export function requestMembers(source: ContractSource, operation: CatalogOperation): Members {
  const members: Record<string, RequestMember> = {};
  for (const { in: place, name, schema, description, required } of routeParameters(
    operation,
    canonicalRoute(operation),
  ))
    if (place !== 'header') members[name] = { schema: { ...schema, description }, required };
  const model = operation.request === null ? undefined : modelOf(source, operation.request.schema);
  for (const [name, member] of Object.entries(model === undefined ? {} : membersOf(model)))
    members[name] ??= member;
  const key = keyParameter(operation);
  if (key !== undefined) members[KEY_ARGUMENT] ??= { schema: keySchema(source, key), required: false };
  return members;
}

/** The members of an object; none of a value of another type. */
export function membersOf({ properties = {}, required = [] }: Schema): Members {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { schema, required: required.includes(name) }]),
  );
}

/** The schema without null, and without a reference at its root. The member's own text stays. */
export function resolved(source: ContractSource, schema: Schema): Schema {
  const branch = nullableBranch(schema) ?? schema;
  const name = referenceName(branch);
  if (name === undefined) return branch === schema ? schema : { ...branch, ...textOf(schema) };
  const { $ref: _ref, ...own } = branch;
  return resolved(source, { ...modelOf(source, name), ...own, ...textOf(schema) });
}

function textOf({ description }: Schema): Pick<Schema, 'description'> {
  return description === undefined ? {} : { description };
}

/** The name of the model that the schema refers to, with or without null. */
export function modelNameOf(schema: Schema): string | undefined {
  return referenceName(nullableBranch(schema) ?? schema);
}

/** @throws if no model has the name. */
export function modelOf({ models }: ContractSource, name: string | null): Schema {
  const model = name === null ? undefined : models.get(name);
  if (model === undefined) throw new Error(`there is no model ${name ?? '(none)'}`);
  return model.schema;
}

/** The contract bounds the field, which may hold more than the key; an argument is the key itself. */
function keySchema({ limits }: ContractSource, { schema, description }: CatalogParameter): Schema {
  const most = limits.find(({ name }) => name === 'identifierLengthMax');
  return { ...schema, ...(typeof most?.value === 'number' ? { maxLength: most.value } : {}), description };
}

/** The header that carries the key, where the body does not. */
function keyParameter({ idempotency, parameters }: CatalogOperation): CatalogParameter | undefined {
  const { location } = idempotency;
  if (location?.in !== 'header' || location.pointer !== undefined) return undefined;
  return parameters.find(({ in: place, name }) => place === 'header' && name === location.name);
}
