import { isPublished } from './catalog.ts';
import { type Model, referenceName, type Schema, walk } from './schema.ts';
import type { ContractSource } from './source.ts';

/** The model of every problem answer, in all operations. */
export const PROBLEM_MODEL = 'ProblemDetails';

export interface Roles {
  readonly request: ReadonlySet<string>;
  readonly response: ReadonlySet<string>;
  /** Reached by an operation that is not internal. */
  readonly published: ReadonlySet<string>;
}

/** The models of requests and of answers: those that operations name, and those that these models refer to. */
export function modelRoles({ catalog, models }: Pick<ContractSource, 'catalog' | 'models'>): Roles {
  const published = catalog.operations.filter(isPublished);
  const requests = catalog.operations.map(({ request }) => request?.schema);
  const responses = catalog.operations.flatMap((operation) =>
    operation.responses.map(({ schema }) => schema),
  );
  const open = published.flatMap(({ request, responses: answers }) => [
    request?.schema,
    ...answers.map(({ schema }) => schema),
  ]);
  return {
    // A model that a request sends back verbatim stays a model of answers.
    request: reach(models, requests, (schema) => schema['x-svc-verbatim'] !== true),
    response: reach(models, [...responses, PROBLEM_MODEL]),
    published: reach(models, [...open, PROBLEM_MODEL]),
  };
}

function reach(
  models: ReadonlyMap<string, Model>,
  roots: readonly (string | null | undefined)[],
  follows: (schema: Schema) => boolean = () => true,
): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = roots.filter((name) => typeof name === 'string');
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const model = models.get(name);
    if (model === undefined || found.has(name)) continue;
    found.add(name);
    for (const { schema } of walk(model.schema)) {
      if (!follows(schema)) continue;
      const next = referenceName(schema);
      if (next !== undefined) waiting.push(next);
    }
  }
  return found;
}
