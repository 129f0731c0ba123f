import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import { answersBytes } from './byte-answer.ts';
import { decodeRest, decodeSegment, segmentRule, splitPath } from './path.ts';

/** The routes of the operation table as a tree of undecoded segments. Parameters are decoded after a route is found. */

export interface RouteMatch {
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router {
  /** Throws `route_not_found`, `method_not_allowed` with the methods that exist, or `invalid_path_segment`. */
  match(method: string, path: string): RouteMatch;
  /** Every method that some path has. */
  readonly methods: readonly string[];
}

export function methodNotAllowed(methods: Iterable<string>): ServiceError {
  return new ServiceError('method_not_allowed', 'The path does not have this method.', {
    allow: [...methods].sort(),
  });
}

interface Node {
  readonly literals: Map<string, Node>;
  /** The subtree behind a parameter; the parameter's name does not matter for the match. */
  parameter: Node | null;
  /** The end of a route whose last parameter matches all further segments. */
  rest: Node | null;
  readonly methods: Map<string, { readonly entry: OperationEntry; readonly route: OperationRoute }>;
}

export function createRouter(operations: Readonly<Record<string, OperationEntry>>): Router {
  const root = newNode();
  for (const entry of Object.values(operations)) for (const route of entry.routes) insert(root, entry, route);
  return {
    match(method, path) {
      const segments = splitPath(path);
      const node = find(root, segments, 0);
      if (!node) throw new ServiceError('route_not_found', 'No operation has this path.');
      const target = node.methods.get(method);
      if (!target) throw methodNotAllowed(node.methods.keys());
      return { ...target, params: paramsOf(target.route, segments) };
    },
    methods: [
      ...new Set(Object.values(operations).flatMap(({ routes }) => routes.map(({ method }) => method))),
    ],
  };
}

function insert(root: Node, entry: OperationEntry, route: OperationRoute): void {
  let node = root;
  // The root path has one empty segment.
  for (const segment of route.segments.length === 0 ? [{ literal: '' }] : route.segments) {
    if ('literal' in segment) {
      const next = node.literals.get(segment.literal) ?? newNode();
      node.literals.set(segment.literal, next);
      node = next;
    } else if (segment.rest === true) {
      node.rest ??= newNode();
      node = node.rest;
    } else {
      node.parameter ??= newNode();
      node = node.parameter;
    }
  }
  if (node.methods.has(route.method))
    throw new Error(`two operations have the route of ${route.operationId}`);
  node.methods.set(route.method, { entry, route });
  // A client asks with HEAD for the size and the tag of bytes before it fetches them.
  if (route.method === 'GET' && answersBytes(entry)) node.methods.set('HEAD', { entry, route });
}

/** Literals go first, as OpenAPI 3.1 orders paths, then parameters, then the rest of a path; a dead end turns back. */
function find(node: Node, segments: readonly string[], at: number): Node | null {
  if (at === segments.length) return node.methods.size > 0 ? node : null;
  const segment = segments[at] ?? '';
  const literal = node.literals.get(segment);
  const found = literal && find(literal, segments, at + 1);
  if (found) return found;
  return (node.parameter && find(node.parameter, segments, at + 1)) ?? node.rest;
}

function paramsOf(route: OperationRoute, segments: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const [at, segment] of route.segments.entries()) {
    if ('literal' in segment) continue;
    const spec = route.path.find(({ name }) => name === segment.param);
    params[segment.param] =
      segment.rest === true
        ? decodeRest(segments.slice(at), segmentRule(spec))
        : decodeSegment(segments[at] ?? '', segmentRule(spec));
  }
  return params;
}

function newNode(): Node {
  return { literals: new Map(), parameter: null, rest: null, methods: new Map() };
}
