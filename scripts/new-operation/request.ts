import { pathNames } from '../../contracts/generate/catalog.ts';
import { kebab, subjectOf } from './names.ts';

const MUTATIONS = ['read', 'write', 'delete'] as const;

/** The answers of the contributor, complete and checked. */
export interface NewOperation {
  readonly group: string;
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly mutation: (typeof MUTATIONS)[number];
  /** The right that a caller needs, such as `read`; `null` in an anonymous class. */
  readonly access: string | null;
  readonly authorizationClass: string;
  /** Folder of the handler inside its group. */
  readonly resource: string;
  readonly stability: 'public' | 'preview';
  /** Name of the job that the operation admits; `null` for an operation that does its own work. */
  readonly job: string | null;
}

export interface Given {
  readonly group?: string | undefined;
  readonly id?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly mutation?: string | undefined;
  readonly access?: string | undefined;
  readonly authorizationClass?: string | undefined;
  readonly resource?: string | undefined;
  readonly preview?: boolean | undefined;
  readonly job?: string | undefined;
}

/** The parts of the catalog that the answers are checked against. */
export interface KnownCatalog {
  readonly operations: readonly {
    readonly id: string;
    readonly group: string;
    readonly authorizationClass: string;
  }[];
  readonly authorizationClasses: Readonly<Record<string, { readonly accessOperations: readonly string[] }>>;
}

export class AnswerFault extends Error {}

/** Completes the answers by the catalog. Throws the first fault as a sentence that names the option. */
export function completed(given: Given, catalog: KnownCatalog): NewOperation {
  const group = matching('--group', given.group, /^[a-z]+$/, 'one lower-case word');
  const id = matching(
    '--id',
    given.id,
    /^[a-z]+(?:[A-Z][a-z0-9]+)+$/,
    'a verb and nouns, such as getCanonicalFence',
  );
  if (catalog.operations.some((each) => each.id === id)) throw new AnswerFault(`--id ${id} exists already`);
  const method = oneOf('--method', given.method?.toUpperCase(), [
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
  ] as const);
  const path = matching(
    '--path',
    given.path,
    /^(?:\/(?:[\w.-]+|\{\w+\}))+$/,
    'a path such as /canonical/tenants/{tenantId}',
  );
  const job =
    given.job === undefined
      ? null
      : matching('--job', given.job, /^[a-z]+(?:\.[a-z]+)+$/, 'a handler id such as notes.import');
  const mutation = oneOf('--mutation', given.mutation ?? (method === 'GET' ? 'read' : undefined), MUTATIONS);
  if (method === 'GET' && mutation !== 'read') throw new AnswerFault('--method GET only reads');
  if (job !== null && mutation === 'read') throw new AnswerFault('--job needs --mutation write or delete');
  const authorizationClass = classOf(group, given.authorizationClass, catalog);
  const resource = given.resource ?? kebab(pathNames(path).at(-1)?.replace(/Id$/, '') ?? subjectOf(id));
  return {
    group,
    id,
    method,
    path,
    mutation,
    job,
    authorizationClass,
    access: accessOf(
      given.access ?? mutation,
      catalog.authorizationClasses[authorizationClass]?.accessOperations ?? [],
    ),
    resource: matching('--resource', resource, /^[a-z][a-z-]*$/, 'a folder name'),
    stability: given.preview === false ? 'public' : 'preview',
  };
}

/** The class of the group's operations, unless the answers choose one. */
function classOf(
  group: string,
  chosen: string | undefined,
  { operations, authorizationClasses }: KnownCatalog,
): string {
  const used = operations.find((each) => each.group === group)?.authorizationClass;
  return oneOf('--class', chosen ?? used, Object.keys(authorizationClasses));
}

function accessOf(access: string, allowed: readonly string[]): string | null {
  return allowed.length === 0 ? null : oneOf('--access', access, allowed);
}

function matching(option: string, value: string | undefined, form: RegExp, expected: string): string {
  if (value !== undefined && form.test(value)) return value;
  throw new AnswerFault(`${option} must be ${expected}`);
}

function oneOf<T extends string>(option: string, value: string | undefined, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new AnswerFault(`${option} must be one of ${allowed.join(', ')}`);
  return found;
}
