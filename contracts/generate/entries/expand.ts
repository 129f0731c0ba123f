import type {
  AuthorizationClass,
  CatalogHeader,
  CatalogOperation,
  CatalogParameter,
  CatalogRoute,
} from '../catalog.ts';
import { groupFile } from '../compose-catalog.ts';
import { evidenceOf, factsOf, idempotencyOf, mcpOf, sdkOf } from './defaults.ts';
import { problemsOf } from './problems.ts';
import type {
  ComposedEntry,
  ComposedGroup,
  EntrySource,
  GroupSource,
  HeaderSource,
  NamedParts,
  ParameterSource,
  ResponseSource,
  RouteSource,
  SharedSource,
} from './types.ts';

/** The parts that the entries of every group use. */
export interface Surroundings {
  readonly shared: SharedSource;
  readonly classes: Readonly<Record<string, AuthorizationClass>>;
  /** Every problem code, in the order in which an operation lists them. */
  readonly problemOrder: readonly string[];
}

/** The groups with each entry written out. Throws where an entry names a part that does not exist. */
export function expandGroups(
  groups: Readonly<Record<string, GroupSource>>,
  surroundings: Surroundings,
): Readonly<Record<string, ComposedGroup>> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, group]) => [name, expandGroup(name, group, surroundings)]),
  );
}

function expandGroup(name: string, group: GroupSource, surroundings: Surroundings): ComposedGroup {
  const { position, title, description, operations } = group;
  return {
    position,
    title,
    description,
    operations: operations.map((entry) => {
      try {
        return expandEntry(name, group, entry, surroundings);
      } catch (cause) {
        throw new Error(`${groupFile(name)}: ${entry.id} cannot be written out`, { cause });
      }
    }),
  };
}

/** One entry written out, with its members in the order of the catalog. */
export function expandEntry(
  name: string,
  group: GroupSource,
  entry: EntrySource,
  { shared, classes, problemOrder }: Surroundings,
): ComposedEntry {
  const { id, summary, description, authorizationClass, accessOperation, rateClass, answersText } = entry;
  const parts = [group, shared];
  const routes = routesOf(entry, parts);
  const parameters = parametersOf(entry.parameters ?? [], parts);
  const facts = factsOf(entry);
  const request = requestOf(entry);
  const problems = problemsOf(
    entry,
    { ...facts, routes, parameters, request, ...(rateClass === undefined ? {} : { rateClass }) },
    classes[authorizationClass],
    {
      implied: shared.impliedProblems,
      setOf: (set) => partNamed(parts, 'problemSets', set),
      order: problemOrder,
    },
  );
  return {
    id,
    summary,
    description,
    routes,
    parameters,
    stability: facts.stability,
    authorizationClass,
    ...(rateClass === undefined ? {} : { rateClass }),
    accessOperation,
    mutation: facts.mutation,
    completion: facts.completion,
    idempotency: idempotencyOf(entry, facts),
    sdk: sdkOf(entry, facts),
    request,
    responses: entry.responses.map((response) => responseOf(response, parts)),
    ...(answersText === undefined ? {} : { answersText }),
    problems,
    mcp: mcpOf(name, entry, facts),
    headerSafeFields: entry.headerSafeFields ?? [],
    evidence: evidenceOf(shared.evidence, group.evidence, entry.evidence),
    deprecation: entry.deprecation ?? null,
  };
}

type Scopes = readonly NamedParts[];

/** A part by its name: the group's own first, then the shared ones. */
export function partNamed<K extends keyof NamedParts>(
  scopes: Scopes,
  kind: K,
  name: string,
): NonNullable<NamedParts[K]>[string] | undefined {
  const scope = scopes.find((parts) => Object.hasOwn(parts[kind] ?? {}, name));
  return scope?.[kind]?.[name] as NonNullable<NamedParts[K]>[string] | undefined;
}

function parametersOf(given: readonly ParameterSource[], scopes: Scopes): readonly CatalogParameter[] {
  return given.map((each) =>
    typeof each === 'string' ? required(partNamed(scopes, 'parameters', each), each) : each,
  );
}

function headersOf(given: readonly HeaderSource[], scopes: Scopes): readonly CatalogHeader[] {
  return given.map((each) =>
    typeof each === 'string' ? required(partNamed(scopes, 'headers', each), each) : each,
  );
}

function required<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`nothing is named ${name}`);
  return part;
}

function routesOf(entry: EntrySource, scopes: Scopes): readonly CatalogRoute[] {
  const { id, route, routeOnlyParameters, aliases = [] } = entry;
  const canonical: RouteSource = {
    operationId: id,
    route,
    ...(routeOnlyParameters === undefined ? {} : { parameters: routeOnlyParameters }),
  };
  return [canonical, ...aliases].map(({ operationId, route: place, bodyFromParameters, parameters }) => {
    const [method, path] = place.split(' ') as [CatalogRoute['method'], string];
    return {
      operationId,
      method,
      path,
      ...(bodyFromParameters === undefined ? {} : { bodyFromParameters }),
      ...(parameters === undefined ? {} : { parameters: parametersOf(parameters, scopes) }),
    };
  });
}

function requestOf({ request }: EntrySource): CatalogOperation['request'] {
  if (request === undefined) return null;
  const { schema = null, mediaType = 'application/json', bodyLimitBytes, ...rest } = request;
  return { schema, mediaType, bodyLimitBytes, ...rest };
}

/** A model makes a body of JSON; an answer without one has no body, unless it names its media type. */
function responseOf({ status, mediaType, schema, description, headers }: ResponseSource, scopes: Scopes) {
  return {
    status,
    mediaType: mediaType ?? (schema === undefined ? null : 'application/json'),
    schema: schema ?? null,
    description,
    ...(headers === undefined ? {} : { headers: headersOf(headers, scopes) }),
  };
}
