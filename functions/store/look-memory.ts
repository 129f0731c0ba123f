import { hash } from 'node:crypto';
import type { ListSelection } from './port.ts';
import { isEquality, type Predicate } from './predicates.ts';

/**
 * Rows of a look per record of the page: for the first look, and for the next one when the first nearly filled its
 * page.
 */
export interface LookWidths {
  readonly first: number;
  readonly wide: number;
}

interface Entry {
  /** The width of the next look; 0 if the last one was poor. */
  readonly width: number;
  /** Poor looks in a row. */
  readonly poor: number;
  /** Pages without a look since the last one. */
  skipped: number;
}

/** After poor looks, one page in this many tries a look again, since documents change. */
const retriedEach = 16;

/** After this many poor looks in a row by the same fields, the memory expects a poor look for new values too. */
const poorMax = 4;

const scopesMax = 256;
const entriesMax = 128;

/** A list as its plan sees it. */
interface Question {
  readonly selection: ListSelection;
  readonly predicates: readonly Predicate[];
  readonly orderBy: string | undefined;
}

export interface LookAdvice {
  /** 0: a look would probably not fill the page. */
  readonly width: number;
  /** The look found the page. */
  filled(): void;
  /** The look did not find the page. */
  missed(walked: number, matched: number): void;
}

/**
 * Remembers first looks that did not find their pages, so that lists with few matches skip them. It changes the cost of
 * a list and never its answer, since every plan finds the same page. The key of a question is its fields and the values
 * of its equalities; for new values, its fields alone. Bounds of ranges and positions of pages do not count, because
 * they differ from call to call. The memory drops the least recently used scopes and questions.
 */
export class LookMemory {
  readonly #widths: LookWidths;
  readonly #scopes = new Map<string, Map<string, Entry>>();

  constructor(widths: LookWidths) {
    this.#widths = widths;
  }

  advise(scope: string, question: Question): LookAdvice {
    const { first } = this.#widths;
    const entries = this.#scopes.get(scope) ?? new Map<string, Entry>();
    keep(this.#scopes, scope, entries, scopesMax);
    const fields = fieldsOf(question);
    const valuesKey = keyOf(['values', fields, question.predicates.map(valueOf)]);
    const known = entries.get(valuesKey);
    if (known !== undefined) keep(entries, valuesKey, known, entriesMax);
    const fieldsKey = known?.width === first ? undefined : keyOf(['fields', fields]);
    const width = known === undefined ? this.#unknown(entries.get(fieldsKey ?? '')) : this.#next(known);
    const learn = (key: string, next: number, poor: number): void =>
      keep(entries, key, { width: next, poor, skipped: 0 }, entriesMax);
    return {
      width,
      filled: () => {
        if (fieldsKey === undefined) return;
        learn(valuesKey, width, 0);
        learn(fieldsKey, first, 0);
      },
      missed: (walked, matched) => {
        const next = this.#afterMiss(width, walked, matched);
        learn(valuesKey, next, 0);
        const key = fieldsKey ?? keyOf(['fields', fields]);
        if (next === 0) learn(key, first, (entries.get(key)?.poor ?? 0) + 1);
      },
    };
  }

  #next(entry: Entry): number {
    if (entry.width > 0) return entry.width;
    entry.skipped = (entry.skipped + 1) % retriedEach;
    return entry.skipped === 0 ? this.#widths.first : 0;
  }

  #unknown(fields: Entry | undefined): number {
    if (fields === undefined || fields.poor < poorMax) return this.#widths.first;
    fields.skipped = (fields.skipped + 1) % retriedEach;
    return fields.skipped === 0 ? this.#widths.first : 0;
  }

  /** Where a wider look would fill the page it costs less than counts. */
  #afterMiss(width: number, walked: number, matched: number): number {
    const { wide } = this.#widths;
    return width < wide && matched * wide >= walked ? wide : 0;
  }
}

/** Puts the entry last, and forgets the first of too many. */
function keep<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

function fieldsOf({ selection, predicates, orderBy }: Question): readonly unknown[] {
  const { collection, group, direction, includeHidden } = selection;
  const fields = predicates.map((predicate) => [predicate.name, isEquality(predicate)]);
  return [collection.name, group, orderBy, direction, includeHidden, fields];
}

function valueOf(predicate: Predicate): string | undefined {
  return isEquality(predicate) ? predicate.from : undefined;
}

/** A digest, so that an entry of the memory has a fixed size and contains no values. */
function keyOf(parts: readonly unknown[]): string {
  return hash('sha1', JSON.stringify(parts), 'base64url');
}
