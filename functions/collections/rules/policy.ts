import { canonicalJson } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isIndexPointer, POINTER_WORDS } from './path.ts';

const NAME_LENGTH_MAX = 255;
const nameForm = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const vectorNameForm = /^[A-Za-z0-9_-]+$/;
const PARTITION_KEY_PATH = '/partitionKey';

const datatypes = ['float32'];
const distanceFunctions = ['cosine', 'dotProduct', 'euclidean'];
const indexTypes = ['flat', 'quantizedFlat', 'diskANN'];

/** The policy of a collection as it is stored: every default is filled in, order and spelling are the caller's. */
export interface CollectionPolicy {
  readonly name: string;
  readonly partitionKeyPath: string;
  readonly vectorPolicies: readonly VectorPolicy[];
  readonly indexedMetadata: readonly string[];
}

export interface VectorPolicy {
  readonly name: string;
  readonly path: string;
  readonly dimensions: number;
  readonly datatype: string;
  readonly distanceFunction: string;
  readonly indexType: string;
}

/** A policy of a request, whose members have the types that its schema names. */
export interface PolicyRequest {
  readonly name: string;
  readonly partitionKeyPath?: string | null;
  readonly vectorPolicies?: readonly VectorPolicyRequest[] | null;
  readonly indexedMetadata?: readonly string[] | null;
}

interface VectorPolicyRequest {
  readonly name: string;
  readonly path: string;
  readonly dimensions: number;
  readonly datatype?: string | null;
  readonly distanceFunction?: string | null;
  readonly indexType?: string | null;
}

/** A collection name. Throws `validation_failed` or `limit_exceeded` naming `pointer`. */
export function checkCollectionName(name: string, pointer: string): string {
  if (name.length > NAME_LENGTH_MAX) {
    throw invalidMember(pointer, `must be at most ${NAME_LENGTH_MAX} characters`, 'limit_exceeded');
  }
  if (!nameForm.test(name)) {
    throw invalidMember(
      pointer,
      'must hold letters, digits, -, _ and ., and begin and end with a letter or digit',
    );
  }
  return name;
}

/** Reads the policy of a request. Throws `validation_failed` naming the member below `pointer`. */
export function readPolicy(request: PolicyRequest, pointer = ''): CollectionPolicy {
  const partitionKeyPath = request.partitionKeyPath ?? PARTITION_KEY_PATH;
  if (partitionKeyPath !== PARTITION_KEY_PATH) {
    throw invalidMember(`${pointer}/partitionKeyPath`, `must be ${PARTITION_KEY_PATH}`);
  }
  const vectorPolicies = (request.vectorPolicies ?? []).map((each, index) =>
    readVectorPolicy(each, `${pointer}/vectorPolicies/${index}`),
  );
  // The path follows from the name, so unique names make unique paths.
  checkUnique(
    vectorPolicies.map(({ name }) => name),
    (index) => `${pointer}/vectorPolicies/${index}/name`,
  );
  const indexedMetadata = [...(request.indexedMetadata ?? [])];
  for (const [index, path] of indexedMetadata.entries()) {
    if (isIndexPointer(path)) continue;
    throw invalidMember(`${pointer}/indexedMetadata/${index}`, POINTER_WORDS);
  }
  checkUnique(indexedMetadata, (index) => `${pointer}/indexedMetadata/${index}`);
  const name = checkCollectionName(request.name, `${pointer}/name`);
  return { name, partitionKeyPath, vectorPolicies, indexedMetadata };
}

function readVectorPolicy(request: VectorPolicyRequest, pointer: string): VectorPolicy {
  const { name, path, dimensions } = request;
  if (!vectorNameForm.test(name)) {
    throw invalidMember(`${pointer}/name`, 'must hold letters, digits, _ and -');
  }
  // A record holds its vector under this name, and the parser refuses `__proto__`: no import could read the export.
  if (name === '__proto__') throw invalidMember(`${pointer}/name`, 'must not be __proto__');
  if (path !== `/vectors/${name}/values`) {
    throw invalidMember(
      `${pointer}/path`,
      'must be /vectors/<name>/values with the name of the vector policy',
    );
  }
  if (!Number.isSafeInteger(dimensions) || dimensions < 1) {
    throw invalidMember(`${pointer}/dimensions`, 'must be a whole number above 0');
  }
  return {
    name,
    path,
    dimensions,
    datatype: oneOf(datatypes, request.datatype, `${pointer}/datatype`),
    distanceFunction: oneOf(distanceFunctions, request.distanceFunction, `${pointer}/distanceFunction`),
    indexType: oneOf(indexTypes, request.indexType, `${pointer}/indexType`),
  };
}

/** The text as given, in any case; the first of `allowed` where the request has none. */
function oneOf(allowed: readonly string[], text: string | null | undefined, pointer: string): string {
  const given = text ?? allowed[0] ?? '';
  if (canonicalSpelling(allowed, given) === undefined) {
    throw invalidMember(pointer, `must be one of ${allowed.join(', ')}`);
  }
  return given;
}

function canonicalSpelling(allowed: readonly string[], text: string): string | undefined {
  return allowed.find((each) => each.toLowerCase() === text.toLowerCase());
}

function checkUnique(values: readonly string[], pointerOf: (index: number) => string): void {
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) throw invalidMember(pointerOf(index), 'is listed twice');
    seen.add(value);
  }
}

/**
 * The common form of equivalent policies: the contract's spelling, sorted by name and by path.
 * @testonly
 */
export function normalPolicy(policy: CollectionPolicy): CollectionPolicy {
  const vectorPolicies = policy.vectorPolicies
    .map(normalVectorPolicy)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...policy, vectorPolicies, indexedMetadata: [...policy.indexedMetadata].sort() };
}

/** The policy with the contract's spelling of all words. */
export function normalVectorPolicy(policy: VectorPolicy): VectorPolicy {
  const { datatype, distanceFunction, indexType } = policy;
  return {
    ...policy,
    datatype: canonicalSpelling(datatypes, datatype) ?? datatype,
    distanceFunction: canonicalSpelling(distanceFunctions, distanceFunction) ?? distanceFunction,
    indexType: canonicalSpelling(indexTypes, indexType) ?? indexType,
  };
}

/** Whether a collection that has the policy `a` may be created again with `b`. */
export function samePolicy(a: CollectionPolicy, b: CollectionPolicy): boolean {
  return canonicalJson(normalPolicy(a)) === canonicalJson(normalPolicy(b));
}
