import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import surface from '../../contracts/public-sdk-surface.json' with { type: 'json' };

/** One way to call an operation: each route of the catalog has its own id. */
export interface ApiOperation {
  readonly id: string;
  /** The method of the TypeScript client, where no route has its name. */
  readonly method: string | null;
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  /** `/canonical/tenants/{tenantId}/transactions` */
  readonly pathTemplate: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ApiParameter[];
}

export interface ApiParameter {
  readonly in: 'path' | 'query' | 'header';
  readonly spec: ParameterSpec;
  readonly description: string;
}

/** The descriptive texts of an operation in the published catalog. */
interface Described {
  readonly id: string;
  readonly sdk: { readonly typescript: string } | null;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly DescribedParameter[];
  readonly routes: readonly {
    readonly operationId: string;
    readonly parameters?: readonly DescribedParameter[];
  }[];
}

interface DescribedParameter {
  readonly in: string;
  readonly name: string;
  readonly description: string;
}

const described: ReadonlyMap<string, Described> = new Map(
  (surface.operations as readonly Described[]).map((operation) => [operation.id, operation]),
);

/** Every operation and each of its other routes, in catalog order. */
export const apiOperations: readonly ApiOperation[] = Object.values<OperationEntry>(operations).flatMap(
  (entry) => entry.routes.map((route) => apiOperation(entry, route)),
);

function apiOperation(entry: OperationEntry, route: OperationRoute): ApiOperation {
  const words = described.get(entry.id);
  const alias = route.operationId === entry.id ? '' : ` (as ${entry.id}, by parameters alone)`;
  return {
    id: route.operationId,
    method: route.operationId === entry.id ? methodOf(entry, words?.sdk?.typescript) : null,
    entry,
    route,
    pathTemplate: `/${route.segments.map((segment) => ('literal' in segment ? segment.literal : `{${segment.param}}`)).join('/')}`,
    summary: `${words?.summary ?? entry.id}${alias}`,
    description: words?.description ?? '',
    parameters: (['path', 'query', 'header'] as const).flatMap((place) =>
      parametersIn(route, place).map((spec) => ({
        in: place,
        spec,
        description: descriptionOf(words, route, place, spec.name),
      })),
    ),
  };
}

function methodOf({ id, routes }: OperationEntry, method: string | undefined): string | null {
  return method === undefined || method === id || routes.some((route) => route.operationId === method)
    ? null
    : method;
}

function parametersIn(route: OperationRoute, place: ApiParameter['in']): readonly ParameterSpec[] {
  return { path: route.path, query: route.query, header: route.headers }[place];
}

function descriptionOf(
  words: Described | undefined,
  route: OperationRoute,
  place: string,
  name: string,
): string {
  const own = words?.routes.find(({ operationId }) => operationId === route.operationId)?.parameters ?? [];
  const all = [...own, ...(words?.parameters ?? [])];
  return all.find((parameter) => parameter.in === place && parameter.name === name)?.description ?? '';
}

/** The title of each group, by name. */
export function groupTitle(group: string): string {
  return (surface.groups as Readonly<Record<string, { readonly title: string }>>)[group]?.title ?? group;
}

/** The groups in the order of the documentation. */
export const groups: readonly string[] = [...new Set(apiOperations.map(({ entry }) => entry.group))];
