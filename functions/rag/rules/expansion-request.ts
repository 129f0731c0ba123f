import { checkCollectionName } from '../../collections/rules/policy.ts';
import { readProfile, type TraversalProfile } from '../../graph/rules/profile.ts';
import { readSeedPointers } from '../../graph/rules/seeds.ts';
import { invalidMember } from '../../kernel/errors.ts';

const SEEDS_MAX = 1_000;
const PROVENANCE_MAX = 10_000;
const RECORDS_MAX = 10_000;

/** A request whose members have the types that its schema names. */
export interface ExpansionRequest {
  readonly enabled?: boolean | null;
  readonly collection: string;
  readonly graphId?: string | null;
  readonly namespace?: string | null;
  readonly tenantId?: string | null;
  readonly partitionKey?: string | null;
  readonly seedNodeIds?: readonly string[] | null;
  readonly seedJsonPointers?: readonly string[] | null;
  readonly maxSeedNodes?: number | null;
  readonly profile?: { readonly id?: string | null } | null;
  readonly maxRecords?: number | null;
  readonly allowPartialGraph?: boolean | null;
  readonly includeGraphContextText?: boolean | null;
  readonly maxGraphContextChars?: number | null;
  readonly includeGraphProvenance?: boolean | null;
  readonly maxGraphProvenanceItems?: number | null;
  readonly fallbackOnFailure?: boolean | null;
}

/** A request with its defaults. */
export interface ExpansionOptions {
  readonly enabled: boolean;
  readonly collection: string;
  readonly graphId: string | null;
  readonly namespace: string | null;
  readonly tenantId: string | null;
  readonly partitionKey: string | null;
  readonly seedNodeIds: readonly string[];
  readonly seedJsonPointers: readonly string[];
  readonly maxSeedNodes: number;
  readonly profile: TraversalProfile;
  /** `null`: the maximum of a graph. */
  readonly maxRecords: number | null;
  readonly allowPartialGraph: boolean;
  readonly includeText: boolean;
  readonly maxTextChars: number;
  readonly includeProvenance: boolean;
  readonly maxProvenanceItems: number;
  readonly fallbackOnFailure: boolean;
}

/** `null` if the request asks for no graph. Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`. */
export function readExpansion(
  given: ExpansionRequest | null | undefined,
  pointer = '/graphExpansion',
): ExpansionOptions | null {
  if (given === null || given === undefined) return null;
  checkCollectionName(given.collection, `${pointer}/collection`);
  const seedNodeIds = given.seedNodeIds ?? [];
  if (seedNodeIds.length > SEEDS_MAX)
    throw invalidMember(`${pointer}/seedNodeIds`, `must be at most ${SEEDS_MAX}`, 'limit_exceeded');
  const { maxRecords = null } = given;
  if (maxRecords !== null) whole(maxRecords, [1, RECORDS_MAX], `${pointer}/maxRecords`);
  return {
    enabled: given.enabled ?? true,
    collection: given.collection,
    graphId: given.graphId ?? null,
    namespace: given.namespace ?? null,
    tenantId: given.tenantId ?? null,
    partitionKey: given.partitionKey ?? null,
    seedNodeIds,
    seedJsonPointers: readSeedPointers(given.seedJsonPointers, `${pointer}/seedJsonPointers`),
    maxSeedNodes: whole(given.maxSeedNodes ?? 16, [1, SEEDS_MAX], `${pointer}/maxSeedNodes`),
    profile: readProfile(given.profile ?? {}, `${pointer}/profile`),
    maxRecords,
    allowPartialGraph: given.allowPartialGraph ?? false,
    includeText: given.includeGraphContextText ?? true,
    maxTextChars: whole(
      given.maxGraphContextChars ?? 1_200,
      [1, Infinity],
      `${pointer}/maxGraphContextChars`,
    ),
    includeProvenance: given.includeGraphProvenance ?? true,
    maxProvenanceItems: whole(
      given.maxGraphProvenanceItems ?? 64,
      [0, PROVENANCE_MAX],
      `${pointer}/maxGraphProvenanceItems`,
    ),
    fallbackOnFailure: given.fallbackOnFailure ?? true,
  };
}

function whole(value: number, [least, most]: readonly [number, number], pointer: string): number {
  if (!Number.isSafeInteger(value) || value < least)
    throw invalidMember(pointer, `must be a whole number from ${least}`);
  if (value > most) throw invalidMember(pointer, `must be at most ${most}`, 'limit_exceeded');
  return value;
}
