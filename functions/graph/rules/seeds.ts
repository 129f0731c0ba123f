import type { RecordValue } from '../../collections/rules/record-key.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isJsonPointer, valueAtPointer } from '../../kernel/json-pointer.ts';

/** @testonly */
export const SEED_POINTERS = ['/metadata/graphNodeId', '/metadata/nodeId', '/metadata/graphNodeIds', '/id'];
const POINTERS_MAX = 32;
const DIAGNOSTICS_MAX = 200;
/** Characters of a value that a diagnostic repeats. */
const VALUE_LENGTH_MAX = 200;

interface SeedDiagnostic {
  readonly recordId: string | null;
  readonly partitionKey: string | null;
  readonly pointer: string;
  readonly found: boolean;
  readonly rawValue: string | null;
  readonly normalizedValue: string | null;
  readonly skippedReason: 'missing' | 'blank' | 'duplicate' | 'maxSeedNodes' | null;
  readonly accepted: boolean;
}

export interface Seeds {
  /** The start nodes, in the order in which they were found. */
  readonly nodeIds: readonly string[];
  /** The number of values that are not blank, with duplicates. */
  readonly candidateCount: number;
  /** The number of different nodes beyond the maximum. */
  readonly droppedCount: number;
  readonly diagnostics: readonly SeedDiagnostic[];
  readonly omittedDiagnosticCount: number;
}

/** Pointers of a request; the defaults if it has none. Throws `validation_failed` naming the pointer. */
export function readSeedPointers(given: readonly string[] | null | undefined, pointer = '/seedJsonPointers') {
  if (given === null || given === undefined || given.length === 0) return SEED_POINTERS;
  if (given.length > POINTERS_MAX)
    throw invalidMember(pointer, `must be at most ${POINTERS_MAX}`, 'limit_exceeded');
  for (const [index, text] of given.entries())
    if (text === '' || !isJsonPointer(text))
      throw invalidMember(`${pointer}/${index}`, 'must be a JSON Pointer');
  return [...new Set(given)];
}

/** The values of a record at the pointers: texts, and the texts of lists; `null` if it has none. */
export function* seedValues(
  record: RecordValue,
  pointers: readonly string[],
): Generator<{ readonly pointer: string; readonly value: string | null }, void> {
  for (const pointer of pointers) {
    const value = valueAtPointer(record, pointer);
    const values = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    const texts = values.flatMap((each) =>
      typeof each === 'string' || typeof each === 'number' ? [String(each)] : [],
    );
    if (texts.length === 0) yield { pointer, value: null };
    for (const text of texts) yield { pointer, value: text };
  }
}

/** The nodes that a request names, then those that records name. */
export function findSeeds(
  named: readonly string[],
  records: readonly RecordValue[],
  pointers: readonly string[],
  nodesMax: number,
): Seeds {
  const finder = new SeedFinder(nodesMax);
  for (const value of named) finder.offer({ record: null, pointer: '/seedNodeIds', value });
  for (const record of records)
    for (const { pointer, value } of seedValues(record, pointers)) finder.offer({ record, pointer, value });
  return finder.found();
}

interface Offer {
  readonly record: RecordValue | null;
  readonly pointer: string;
  readonly value: string | null;
}

class SeedFinder {
  readonly #nodesMax: number;
  readonly #nodeIds = new Set<string>();
  readonly #dropped = new Set<string>();
  readonly #diagnostics: SeedDiagnostic[] = [];
  #omitted = 0;
  #candidates = 0;

  constructor(nodesMax: number) {
    this.#nodesMax = nodesMax;
  }

  offer({ record, pointer, value }: Offer): void {
    const id = value?.trim() ?? null;
    const skippedReason = this.#reasonAgainst(id);
    if (id !== null && id !== '') this.#candidates += 1;
    if (skippedReason === 'maxSeedNodes' && id !== null) this.#dropped.add(id);
    if (skippedReason === null && id !== null) this.#nodeIds.add(id);
    if (this.#diagnostics.length >= DIAGNOSTICS_MAX) {
      this.#omitted += 1;
      return;
    }
    this.#diagnostics.push({
      recordId: record?.id ?? null,
      partitionKey: record?.partitionKey ?? null,
      pointer,
      found: value !== null,
      rawValue: shortened(value),
      normalizedValue: shortened(id),
      skippedReason,
      accepted: skippedReason === null,
    });
  }

  #reasonAgainst(id: string | null): SeedDiagnostic['skippedReason'] {
    if (id === null) return 'missing';
    if (id === '') return 'blank';
    if (this.#nodeIds.has(id) || this.#dropped.has(id)) return 'duplicate';
    return this.#nodeIds.size >= this.#nodesMax ? 'maxSeedNodes' : null;
  }

  found(): Seeds {
    return {
      nodeIds: [...this.#nodeIds],
      candidateCount: this.#candidates,
      droppedCount: this.#dropped.size,
      diagnostics: this.#diagnostics,
      omittedDiagnosticCount: this.#omitted,
    };
  }
}

function shortened(text: string | null): string | null {
  return text?.slice(0, VALUE_LENGTH_MAX).toWellFormed() ?? null;
}
