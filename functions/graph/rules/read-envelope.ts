import { limits } from '../../../contracts/generated/limits.ts';
import { checkPartitionKey } from '../../collections/rules/record-key.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { type ProblemDetail, ServiceError } from '../../kernel/errors.ts';
import { isJsonList, isJsonObject, objectOrEmpty } from '../../kernel/json-kinds.ts';
import { type GraphModel, withContractNames } from './aliases.ts';
import type {
  GraphAssertion,
  GraphEdge,
  GraphEnvelope,
  GraphLists,
  GraphNode,
  GraphProjection,
  GraphReview,
} from './elements.ts';
import { GRAPH_RECORDS_MAX, GRAPH_SCHEMA } from './limits.ts';
import { partitionOf, readScope } from './read-scope.ts';
import { faultsOf } from './sound-element.ts';

/** An envelope that its schema has accepted. The schema does not check members of elements, because they may have other names. */
export type EnvelopeRequest = JsonObject;

export interface ReadEnvelope {
  /** The graph with the names and defaults of the contract; further members are kept. */
  readonly envelope: GraphEnvelope;
  readonly faults: readonly ProblemDetail[];
}

/** Faults that an answer lists; a caller can correct a file from the first ones. */
const FAULTS_MAX = 100;
const ID_LENGTH_MAX = limits.graphIdLengthMax;

/**
 * Reads an envelope and collects its faults, one element a step. Edges to missing nodes are no fault, because an import merges.
 */
export function* inspectEnvelope(given: EnvelopeRequest, pointer = ''): Generator<void, ReadEnvelope> {
  const faults = new Faults(pointer);
  const schema = given['schema'];
  const metadata = given['metadata'];
  const scope = readScope(objectOrEmpty(given['scope']));
  faults.check(`/scope/partitionKey`, () => checkPartitionKey(partitionOf(scope), '/scope/partitionKey'));
  const envelope: GraphEnvelope = {
    schema: typeof schema === 'string' && schema.trim() !== '' ? schema : GRAPH_SCHEMA,
    scope,
    metadata: isJsonObject(metadata) ? metadata : null,
    nodes: yield* faults.elements<GraphNode>(given, 'nodes', NODE),
    edges: yield* faults.elements<GraphEdge>(given, 'edges', EDGE),
    assertions: yield* faults.elements<GraphAssertion>(given, 'assertions', ASSERTION),
    reviews: yield* faults.elements<GraphReview>(given, 'reviews', REVIEW),
    projections: yield* faults.elements<GraphProjection>(given, 'projections', PROJECTION),
  };
  const count = recordCountOf(envelope);
  if (count > GRAPH_RECORDS_MAX)
    faults.add('', `makes ${count} records, and an import has at most ${GRAPH_RECORDS_MAX}`);
  return { envelope, faults: faults.found };
}

/** Faults that a problem document lists; the preflight lists all. */
const LISTED_FAULTS_MAX = 20;

/** Reads it in steps. Throws `validation_failed` with the first faults below `pointer`. */
export function* readEnvelope(given: EnvelopeRequest, pointer = ''): Generator<void, GraphEnvelope> {
  const { envelope, faults } = yield* inspectEnvelope(given, pointer);
  const [first] = faults;
  if (first === undefined) return envelope;
  const errors = faults.slice(0, LISTED_FAULTS_MAX);
  throw new ServiceError('validation_failed', `The graph is not valid: ${first.detail}`, { errors });
}

/** The records of an envelope: one of its own, and one for each element. */
export function recordCountOf(lists: GraphLists): number {
  const { nodes, edges, assertions, reviews, projections } = lists;
  return 1 + nodes.length + edges.length + assertions.length + reviews.length + projections.length;
}

interface ElementRules {
  readonly model: Exclude<GraphModel, 'scope'>;
  readonly required: readonly string[];
  readonly defaults: Readonly<Record<string, string>>;
}

const NODE: ElementRules = { model: 'node', required: ['id', 'type'], defaults: {} };
const EDGE: ElementRules = {
  model: 'edge',
  required: ['id', 'sourceId', 'targetId', 'predicate'],
  defaults: {},
};
const ASSERTION: ElementRules = {
  model: 'assertion',
  required: ['id', 'subjectId'],
  defaults: { subjectKind: 'node', status: 'proposed', method: 'unspecified', actor: 'system' },
};
const REVIEW: ElementRules = {
  model: 'review',
  required: ['id', 'subjectId', 'status', 'reviewer'],
  defaults: { subjectKind: 'assertion' },
};
const PROJECTION: ElementRules = { model: 'projection', required: ['id'], defaults: {} };

function defaultsOf(given: JsonObject, defaults: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const own = given[name];
      return [name, typeof own === 'string' && own.trim() !== '' ? own : value];
    }),
  );
}

class Faults {
  readonly #pointer: string;
  readonly found: ProblemDetail[] = [];

  constructor(pointer: string) {
    this.#pointer = pointer;
  }

  add(pointer: string, detail: string): void {
    if (this.found.length < FAULTS_MAX) this.found.push({ pointer: this.#pointer + pointer, detail });
  }

  check(pointer: string, check: () => unknown): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.add(pointer, error.extensions.errors?.[0]?.detail ?? error.message);
    }
  }

  /** The elements of a list with text in all required members and a unique id. One element a step. */
  *elements<Element>(
    envelope: EnvelopeRequest,
    list: string,
    { model, required, defaults }: ElementRules,
  ): Generator<void, Element[]> {
    const given = envelope[list] ?? [];
    const ids = new Set<unknown>();
    const read: Element[] = [];
    for (const [index, each] of (isJsonList(given) ? given : []).entries()) {
      yield;
      const place = `/${list}/${index}`;
      if (!isJsonObject(each)) {
        this.add(place, 'must be an object');
        continue;
      }
      const element = withElementNames(each, model);
      for (const name of required) this.#text(element[name], `${place}/${name}`);
      for (const { pointer, detail } of faultsOf(element, model)) this.add(place + pointer, detail);
      const { id } = element;
      if (typeof id === 'string' && ids.has(id)) this.add(`${place}/id`, 'is listed twice');
      ids.add(id);
      read.push({ ...element, ...defaultsOf(element, defaults) } as unknown as Element);
    }
    return read;
  }

  #text(value: Json | undefined, pointer: string): void {
    if (typeof value !== 'string' || value.trim() === '')
      this.add(pointer, 'must be a text that is not blank');
    else if (!value.isWellFormed()) this.add(pointer, 'must be well-formed Unicode');
    else if (value.length > ID_LENGTH_MAX) this.add(pointer, `must be at most ${ID_LENGTH_MAX} characters`);
  }
}

function withElementNames(given: JsonObject, model: GraphModel): JsonObject {
  const element = withContractNames(given, model);
  const held = Object.entries(heldBy(model)).flatMap(([name, inner]): [string, Json][] => {
    const value = element[name] ?? null;
    const named = (each: Json) => (isJsonObject(each) ? withElementNames(each, inner) : each);
    return value === null ? [] : [[name, isJsonList(value) ? value.map(named) : named(value)]];
  });
  return { ...element, ...Object.fromEntries(held) };
}

/** Members whose own members may have other names. */
function heldBy(model: GraphModel): Readonly<Record<string, GraphModel>> {
  if (model === 'projection') return { profile: 'profile', nodes: 'node', edges: 'edge' };
  return model === 'node' || model === 'edge' || model === 'assertion' ? { sourceSpans: 'span' } : {};
}
