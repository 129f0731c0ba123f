import type { RecordValue } from '../../collections/rules/record-key.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ContextMatch } from './context-match.ts';
import type { ContextOptions } from './context-request.ts';
import { type Excerpt, excerptOf } from './excerpt.ts';
import { type ContextGroup, groupKeyOf, groupsOf, pickOrder } from './groups.ts';
import { isBlank } from './white-space.ts';

export interface ContextChunk<Match extends ContextMatch = ContextMatch> {
  /** The rank, from 1, in the order of the context. */
  readonly rank: number;
  readonly match: Match;
  readonly text: string;
  readonly charEnd: number;
  readonly originalTextLength: number;
  readonly truncated: boolean;
  readonly excerptHash: string;
  /** `null` if the request has no groups. */
  readonly groupKey: string | null;
}

interface GroupStats {
  readonly key: string;
  readonly chunkCount: number;
  readonly charCount: number;
  readonly skippedCount: number;
  readonly required: boolean;
  readonly satisfied: boolean;
}

export interface ContextChunks<Match extends ContextMatch = ContextMatch> {
  readonly chunks: readonly ContextChunk<Match>[];
  /** The length of the texts of the chunks. */
  readonly totalChars: number;
  readonly skippedEmptyText: number;
  readonly skippedForGroupBudget: number;
  readonly droppedForBudget: number;
  readonly budgetExhausted: boolean;
  readonly groups: readonly GroupStats[];
  readonly unsatisfiedRequiredGroups: readonly string[];
}

/**
 * Selects chunks of the matches within the budgets of the context, of a chunk and of the groups, one match a step. Throws
 * `validation_failed` if a required group does not reach its minimum and the request wants to fail then.
 */
export function* contextChunks<Match extends ContextMatch>(
  matches: readonly Match[],
  options: ContextOptions,
): Generator<void, ContextChunks<Match>> {
  const { assembly } = options;
  const withText = matches.flatMap((match) => {
    const text = textOf(match.record, options.contentField);
    return text === null ? [] : [{ match, text, group: groupKeyOf(match, assembly) }];
  });
  const groups = groupsOf(
    withText.map(({ group }) => group),
    assembly,
  );
  const budget = new Budget(options.maxChars, options.maxCharsPerChunk);
  const chunks: ContextChunk<Match>[] = [];
  for (const { match, text, group: key } of pickOrder(withText, groups, options.maxCharsPerChunk)) {
    const group = key === null ? null : (groups.get(key) ?? null);
    yield;
    const excerpt = budget.take(text, group);
    if (excerpt === null) continue;
    chunks.push({
      rank: chunks.length + 1,
      match,
      text: excerpt.text,
      charEnd: excerpt.charEnd,
      originalTextLength: text.length,
      truncated: excerpt.truncated,
      excerptHash: sha256(excerpt.text),
      groupKey: key,
    });
  }
  const stats = [...groups.values()].map(statsOf);
  const unsatisfied = stats.filter(({ required, satisfied }) => required && !satisfied).map(({ key }) => key);
  if (unsatisfied.length > 0 && assembly.failOnUnsatisfiedRequiredGroups === true)
    throw groupsMissing(unsatisfied);
  return {
    chunks,
    totalChars: budget.used,
    skippedEmptyText: matches.length - withText.length,
    skippedForGroupBudget: budget.skippedForGroup,
    droppedForBudget: budget.dropped,
    budgetExhausted: budget.dropped > 0 || budget.used >= options.maxChars,
    groups: stats,
    unsatisfiedRequiredGroups: unsatisfied,
  };
}

function textOf({ content }: RecordValue, field: string): string | null {
  if (typeof content !== 'object' || content === null || !Object.hasOwn(content, field)) return null;
  const text = (content as Readonly<Record<string, unknown>>)[field];
  return typeof text === 'string' && !isBlank(text) ? text : null;
}

/** The remaining budgets of one context. */
class Budget {
  readonly #maxChars: number;
  readonly #maxCharsPerChunk: number;
  used = 0;
  skippedForGroup = 0;
  dropped = 0;

  constructor(maxChars: number, maxCharsPerChunk: number) {
    this.#maxChars = maxChars;
    this.#maxCharsPerChunk = maxCharsPerChunk;
  }

  /** `null`: the budget has no room for the text. */
  take(text: string, group: ContextGroup | null): Excerpt | null {
    if (group !== null && group.room() <= 0) {
      group.skipped += 1;
      this.skippedForGroup += 1;
      return null;
    }
    const room = Math.min(this.#maxCharsPerChunk, this.#maxChars - this.used, group?.room() ?? Infinity);
    const excerpt = excerptOf(text, room);
    if (excerpt.text === '') {
      this.dropped += 1;
      return null;
    }
    this.used += excerpt.text.length;
    group?.take(excerpt.text.length);
    return excerpt;
  }
}

function statsOf(group: ContextGroup): GroupStats {
  return {
    key: group.key,
    chunkCount: group.chunks,
    charCount: group.chars,
    skippedCount: group.skipped,
    required: group.isRequired,
    satisfied: group.isSatisfied(),
  };
}

function groupsMissing(keys: readonly string[]): ServiceError {
  const pointer = '/contextAssembly/groups';
  const detail = `The matches leave ${keys.length} required groups without the least that they need.`;
  return new ServiceError('validation_failed', detail, { errors: [{ pointer, detail }] });
}
