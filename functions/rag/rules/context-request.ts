import { invalidMember } from '../../kernel/errors.ts';
import { contentFieldOf } from './ingest-request.ts';

/** A request whose members have the types of its schema; the members of the retrieval are read elsewhere. */
export interface ContextRequest {
  readonly contentField?: string | null;
  readonly maxChars?: number | null;
  readonly maxCharsPerChunk?: number | null;
  readonly maxCitationsPerChunk?: number | null;
  readonly contextAssembly?: AssemblyRequest | null;
  readonly includeRecords?: boolean | null;
  readonly includeCitations?: boolean | null;
  readonly includeContextText?: boolean | null;
}

export interface AssemblyRequest {
  readonly groupBy?: 'collection' | 'sourceKind' | 'metadata' | 'jsonPointer' | null;
  readonly groupByPath?: string | null;
  readonly defaultMaxChunksPerGroup?: number | null;
  readonly defaultMaxCharsPerGroup?: number | null;
  readonly failOnUnsatisfiedRequiredGroups?: boolean | null;
  readonly groups?: readonly GroupRequest[] | null;
}

export interface GroupRequest {
  readonly key: string;
  readonly priority?: number | null;
  readonly required?: boolean | null;
  readonly minChunks?: number | null;
  readonly maxChunks?: number | null;
  readonly minChars?: number | null;
  readonly maxChars?: number | null;
}

/** A request with its defaults. Lengths are in UTF-16 units. */
export interface ContextOptions {
  readonly contentField: string;
  readonly maxChars: number;
  readonly maxCharsPerChunk: number;
  /** `null`: all. */
  readonly maxCitationsPerChunk: number | null;
  readonly assembly: AssemblyRequest;
  readonly includeRecords: boolean;
  readonly includeCitations: boolean;
  readonly includeContextText: boolean;
}

/** Throws `validation_failed` naming the member below `pointer`. */
export function readContextRequest(given: ContextRequest, pointer = ''): ContextOptions {
  const maxCitations = given.maxCitationsPerChunk ?? null;
  return {
    contentField: contentFieldOf(given.contentField, `${pointer}/contentField`),
    maxChars: positive(given.maxChars ?? 8_000, `${pointer}/maxChars`),
    maxCharsPerChunk: positive(given.maxCharsPerChunk ?? 1_200, `${pointer}/maxCharsPerChunk`),
    maxCitationsPerChunk:
      maxCitations === null ? null : positive(maxCitations, `${pointer}/maxCitationsPerChunk`),
    assembly: checkAssembly(given.contextAssembly ?? {}, `${pointer}/contextAssembly`),
    includeRecords: given.includeRecords ?? false,
    includeCitations: given.includeCitations ?? true,
    includeContextText: given.includeContextText ?? false,
  };
}

function checkAssembly(given: AssemblyRequest, pointer: string): AssemblyRequest {
  const { groupBy = null, groupByPath = null } = given;
  const needsPath = groupBy === 'metadata' || groupBy === 'jsonPointer';
  if (needsPath && (groupByPath === null || groupByPath.trim() === ''))
    throw invalidMember(`${pointer}/groupByPath`, `must say what the groups of ${groupBy} are`);
  if (groupBy === 'jsonPointer' && groupByPath?.startsWith('/') !== true)
    throw invalidMember(`${pointer}/groupByPath`, 'must be a JSON Pointer');
  const groups = given.groups ?? [];
  if (groups.length > 0 && groupBy === null)
    throw invalidMember(`${pointer}/groupBy`, 'must say what the groups are');
  checkPositive(given, ['defaultMaxChunksPerGroup', 'defaultMaxCharsPerGroup'], pointer);
  const keys = new Set<string>();
  for (const [index, group] of groups.entries()) {
    const place = `${pointer}/groups/${index}`;
    if (keys.has(group.key)) throw invalidMember(`${place}/key`, 'is listed twice');
    keys.add(group.key);
    checkPositive(group, ['minChunks', 'maxChunks', 'minChars', 'maxChars'], place);
    for (const what of ['Chunks', 'Chars'] as const) {
      const least = group[`min${what}`] ?? 0;
      if (least > (group[`max${what}`] ?? Infinity))
        throw invalidMember(`${place}/min${what}`, `must be at most max${what}`);
    }
  }
  return given;
}

function checkPositive<Given>(given: Given, names: readonly (keyof Given & string)[], pointer: string): void {
  for (const name of names) {
    const value = given[name];
    if (typeof value === 'number') positive(value, `${pointer}/${name}`);
  }
}

function positive(value: number, pointer: string): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw invalidMember(pointer, 'must be a whole number above 0');
  return value;
}
