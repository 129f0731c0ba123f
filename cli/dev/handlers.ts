import type { WorkerHandler } from '../../sdk/typescript/src/worker/index.ts';

const EXAMPLE = 'export const handlers = { hello: async ({ payload }) => ({ got: payload }) };';

/**
 * The handlers that a module exports: `handlers`, or the default export, is an object of functions by handler id. Answers
 * the reason where there are none.
 */
export function handlersIn(
  exported: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, WorkerHandler> | string {
  const given = exported['handlers'] ?? handlersOf(exported['default']);
  if (given === undefined || given === null)
    return `it exports no handlers. A module with one:\n  ${EXAMPLE}`;
  if (typeof given !== 'object' || Array.isArray(given))
    return `its handlers are no object of functions by handler id. A module with one:\n  ${EXAMPLE}`;
  const handlers = Object.entries(given);
  if (handlers.length === 0) return `its handlers are empty. A module with one:\n  ${EXAMPLE}`;
  const other = handlers.find(([, handler]) => typeof handler !== 'function');
  if (other !== undefined) return `its handler ${JSON.stringify(other[0])} is not a function`;
  return new Map(handlers as [string, WorkerHandler][]);
}

function handlersOf(exported: unknown): unknown {
  if (typeof exported !== 'object' || exported === null) return exported;
  return 'handlers' in exported ? exported.handlers : exported;
}

/** The worker kit takes as many handlers for one worker. */
const HANDLERS_MAX = 32;

export function inGroups<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / HANDLERS_MAX);
  return Array.from({ length: count }, (_, at) => items.slice(at * HANDLERS_MAX, (at + 1) * HANDLERS_MAX));
}
