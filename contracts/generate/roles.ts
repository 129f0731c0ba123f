import { isPublished } from './catalog.ts';
import { type Model, referenceName, type Schema, walk } from './schema.ts';
import type { ContractSource } from './source.ts';

/** The model that every problem answer carries, whatever the operation. */
export const PROBLEM_MODEL = 'ProblemDetails';

export interface Roles {
  readonly request: ReadonlySet<string>;
  readonly response: ReadonlySet<string>;
  /** Reached by an operation that is not internal. */
  readonly published: ReadonlySet<string>;
}

/** Which models requests and answers are made of: what the operations name, and what those models refer to. */
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
    // What is sent back verbatim is a model of answers all the same.
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
