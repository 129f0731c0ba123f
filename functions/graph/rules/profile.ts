import { limits } from '../../../contracts/generated/limits.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkJsonBytes } from '../../kernel/json-bytes.ts';
import { isJsonList } from '../../kernel/json-kinds.ts';
import { withContractNames } from './aliases.ts';

type Direction = 'outgoing' | 'incoming' | 'both';

/** The rules of a traversal, with all defaults. Empty lists restrict nothing. */
export interface TraversalProfile {
  readonly id: string;
  readonly direction: Direction;
  /** The most edges between a node and the nearest start. */
  readonly maxDepth: number;
  readonly predicates: readonly string[];
  readonly nodeTypes: readonly string[];
  /** The most nodes of the answer. */
  readonly limit: number;
  /** The most edges of the answer. */
  readonly edgeLimit: number;
  readonly includeStart: boolean;
  readonly reviewStatuses: readonly string[];
  readonly assertionStatuses: readonly string[];
  readonly requireSourceGrounding: boolean;
  readonly minScore: number | null;
  readonly includePathExplanations: boolean;
}

/** Reads a profile. Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`. */
export function readProfile(given: JsonObject, pointer = '/profile'): TraversalProfile {
  checkJsonBytes(given, limits.recordBytesMax, pointer);
  const profile = withContractNames(given, 'profile');
  const reader = new ProfileReader(profile, pointer);
  return {
    id: reader.text('id', 'default'),
    direction: reader.direction(),
    maxDepth: reader.whole('maxDepth', 1, 0),
    predicates: reader.texts('predicates'),
    nodeTypes: reader.texts('nodeTypes'),
    limit: reader.whole('limit', 100, 1),
    edgeLimit: reader.whole('edgeLimit', 100, 1),
    includeStart: reader.flag('includeStart', true),
    reviewStatuses: reader.texts('reviewStatuses'),
    assertionStatuses: reader.texts('assertionStatuses'),
    requireSourceGrounding: reader.flag('requireSourceGrounding', false),
    minScore: reader.score(),
    includePathExplanations: reader.flag('includePathExplanations', true),
  };
}

/** The members may have other names, so no schema has checked their types. */
class ProfileReader {
  readonly #profile: JsonObject;
  readonly #pointer: string;

  constructor(profile: JsonObject, pointer: string) {
    this.#profile = profile;
    this.#pointer = pointer;
  }

  text(name: string, absent: string): string {
    const value = this.#profile[name] ?? absent;
    if (typeof value !== 'string') throw this.#fault(name, 'must be a text');
    return value.trim() === '' ? absent : value;
  }

  direction(): Direction {
    const value = this.#profile['direction'] ?? 'both';
    if (value !== 'outgoing' && value !== 'incoming' && value !== 'both')
      throw this.#fault('direction', 'must be outgoing, incoming or both');
    return value;
  }

  whole(name: string, absent: number, least: number): number {
    const value = this.#profile[name] ?? absent;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least)
      throw this.#fault(name, `must be a whole number from ${least}`);
    return value;
  }

  flag(name: string, absent: boolean): boolean {
    const value = this.#profile[name] ?? absent;
    if (typeof value !== 'boolean') throw this.#fault(name, 'must be true or false');
    return value;
  }

  texts(name: string): readonly string[] {
    const value: Json = this.#profile[name] ?? [];
    if (!isTexts(value)) throw this.#fault(name, 'must be a list of texts');
    return value;
  }

  score(): number | null {
    const value = this.#profile['minScore'] ?? null;
    if (value !== null && typeof value !== 'number') throw this.#fault('minScore', 'must be a number');
    return value;
  }

  #fault(name: string, detail: string) {
    return invalidMember(`${this.#pointer}/${name}`, detail);
  }
}

/** The start nodes of a request, each once. Throws `validation_failed` if it has none. */
export function readStarts(given: readonly string[], pointer = '/startNodeIds'): readonly string[] {
  const starts = [...new Set(given.filter((id) => id.trim() !== ''))];
  if (starts.length === 0) throw invalidMember(pointer, 'must name a node');
  return starts;
}

function isTexts(value: Json): value is readonly string[] {
  return isJsonList(value) && value.every((text) => typeof text === 'string');
}
