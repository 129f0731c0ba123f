import { isDateTime } from '../../../contracts/date-time.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';

/** Models with types for their members. */
export type SoundModel = 'node' | 'edge' | 'assertion' | 'review' | 'projection' | 'span' | 'profile';

type Kind =
  | 'text'
  | 'number'
  | 'integer'
  | 'truth'
  | 'time'
  | 'object'
  | 'texts'
  | readonly ['a' | 'many', SoundModel];

const claim = { properties: 'object', createdAt: 'time' } as const;
const grounded = {
  label: 'text',
  properties: 'object',
  sourceSpans: ['many', 'span'],
  assertionIds: 'texts',
  createdAt: 'time',
  updatedAt: 'time',
} as const;

/** Members that an element must have: texts that are not blank. */
const REQUIRED: Readonly<Record<SoundModel, readonly string[]>> = {
  node: ['id', 'type'],
  edge: ['id', 'sourceId', 'targetId', 'predicate'],
  assertion: ['id', 'subjectId', 'subjectKind', 'status', 'method', 'actor'],
  review: ['id', 'subjectId', 'subjectKind', 'status', 'reviewer'],
  projection: ['id'],
  span: [],
  profile: [],
};

/** Members that an element may have; `null` stands for each of them. */
const OPTIONAL: Readonly<Record<SoundModel, Readonly<Record<string, Kind>>>> = {
  node: grounded,
  edge: grounded,
  assertion: { confidence: 'number', sourceSpans: ['many', 'span'], ...claim },
  review: { notes: 'text', ...claim },
  projection: {
    profile: ['a', 'profile'],
    startNodeIds: 'texts',
    nodes: ['many', 'node'],
    edges: ['many', 'edge'],
    diagnostics: 'object',
    createdAt: 'time',
  },
  span: {
    sourceRef: 'text',
    charStart: 'integer',
    charEnd: 'integer',
    unit: 'text',
    locator: 'text',
    textHash: 'text',
    metadata: 'object',
  },
  profile: {
    id: 'text',
    direction: 'text',
    maxDepth: 'integer',
    predicates: 'texts',
    nodeTypes: 'texts',
    limit: 'integer',
    edgeLimit: 'integer',
    includeStart: 'truth',
    reviewStatuses: 'texts',
    assertionStatuses: 'texts',
    requireSourceGrounding: 'truth',
    minScore: 'number',
    includePathExplanations: 'truth',
  },
};

const words: Readonly<Record<Extract<Kind, string>, string>> = {
  text: 'must be a text',
  number: 'must be a number',
  integer: 'must be a whole number',
  truth: 'must be true or false',
  time: 'must be a date-time of RFC 3339',
  object: 'must be an object',
  texts: 'must be a list of texts',
};

/** The faults in the optional members of an element, each with its JSON Pointer. */
export function* faultsOf(
  element: JsonObject,
  model: SoundModel,
): Generator<{ readonly pointer: string; readonly detail: string }, void> {
  for (const [name, kind] of Object.entries(OPTIONAL[model])) {
    const value = element[name] ?? null;
    if (value === null) continue;
    if (typeof kind === 'string') {
      if (!hasKind(value, kind)) yield { pointer: `/${name}`, detail: words[kind] };
    } else yield* faultsWithin(value, `/${name}`, kind);
  }
}

function* faultsWithin(value: Json, pointer: string, [count, model]: Exclude<Kind, string>) {
  if (count === 'many' && !isJsonList(value)) {
    yield { pointer, detail: 'must be a list of objects' };
    return;
  }
  const all = isJsonList(value) ? value.map((each, index) => [`${pointer}/${index}`, each] as const) : [];
  for (const [place, each] of count === 'many' ? all : [[pointer, value] as const]) {
    if (!isJsonObject(each)) {
      yield { pointer: place, detail: words.object };
      continue;
    }
    for (const name of REQUIRED[model])
      if (typeof each[name] !== 'string') yield { pointer: `${place}/${name}`, detail: words.text };
    for (const fault of faultsOf(each, model)) yield { pointer: place + fault.pointer, detail: fault.detail };
  }
}

function hasKind(value: Json, kind: Extract<Kind, string>): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'truth':
      return typeof value === 'boolean';
    case 'time':
      return typeof value === 'string' && isDateTime(value);
    case 'object':
      return isJsonObject(value);
    default:
      return isJsonList(value) && value.every((each) => typeof each === 'string');
  }
}

/** Whether an element has the members of its model. A record that a caller wrote without an import may lack some. */
export function isSound(element: JsonObject, model: SoundModel): boolean {
  if (REQUIRED[model].some((name) => typeof element[name] !== 'string')) return false;
  return faultsOf(element, model).next().done === true;
}
