import type { CollectionPolicy, VectorPolicy } from './policy.ts';
import type { PartitionedKey } from './record-key.ts';

const MANIFEST = 'rag.manifest';
const CHUNK = 'rag.chunk';
/** The most different words that an answer counts separately. */
const WORDS_MAX = 9_999;
const OTHER_WORDS = '(other)';

/** The facts of a record that an inspection counts. */
export interface RecordFacts extends PartitionedKey {
  readonly type: string;
  readonly vectors: readonly VectorFacts[];
  readonly documentId: string | null;
  readonly embeddingProvider: string | null;
  readonly embeddingModel: string | null;
  /** The number of terms that no index holds, because the record has too many. */
  readonly termsLeftOut: number;
}

export interface VectorFacts {
  readonly name: string;
  readonly dimensions: number;
  readonly model: string | null;
  readonly sourceField: string | null;
}

/** Words with their numbers, the most frequent first, then in the order of UTF-16 units. */
export type WordFrequencies = readonly (readonly [word: string, count: number])[];

export interface VectorInspection {
  readonly policy: VectorPolicy;
  readonly presentCount: number;
  readonly missingCount: number;
  readonly notApplicableCount: number;
  readonly emptyCount: number;
  readonly dimensionMismatchCount: number;
  readonly policyCoverage: number;
  readonly modelCounts: WordFrequencies;
  readonly sourceFieldCounts: WordFrequencies;
}

export interface Anomaly extends PartitionedKey {
  readonly kind:
    | 'missingPolicyVector'
    | 'emptyVector'
    | 'dimensionMismatch'
    | 'undeclaredVectorField'
    | 'termsLeftOut';
  readonly type: string;
  /** The vector of the anomaly; `null` if it concerns none. */
  readonly field: string | null;
  readonly message: string;
  readonly details: Readonly<Record<string, number>>;
}

export interface RagCounts {
  readonly documentCount: number;
  readonly chunkCount: number;
  readonly manifestCount: number;
  readonly chunkRecordsWithDocumentIdCount: number;
  readonly chunkRecordsWithVectorCount: number;
  readonly chunkRecordsWithoutVectorCount: number;
}

/** Counts over the records of a collection, which are added one by one. Only the first `anomaliesMax` anomalies are kept. */
export class Inspection {
  readonly #anomaliesMax: number;
  readonly #partitions = new Set<string>();
  readonly #documents = new Set<string>();
  readonly #types = new Counter();
  readonly #providers = new Counter();
  readonly #models = new Counter();
  readonly #extraFields = new Counter();
  readonly #fields: readonly FieldCounts[];
  readonly #rag = { chunkCount: 0, manifestCount: 0, withDocument: 0, withVector: 0 };
  readonly anomalies: Anomaly[] = [];
  anomalyCount = 0;
  recordCount = 0;

  constructor({ vectorPolicies }: CollectionPolicy, anomaliesMax: number) {
    this.#anomaliesMax = anomaliesMax;
    this.#fields = vectorPolicies.map((policy) => new FieldCounts(policy));
  }

  add(record: RecordFacts): void {
    this.recordCount += 1;
    this.#partitions.add(record.partitionKey);
    this.#types.add(record.type === '' ? '(none)' : record.type);
    if (record.embeddingProvider !== null) this.#providers.add(record.embeddingProvider);
    const models = [record.embeddingModel, ...record.vectors.map(({ model }) => model)];
    for (const model of new Set(models)) if (model !== null) this.#models.add(model);
    this.#addRag(record);
    if (record.termsLeftOut > 0) this.#found(tooManyTerms(record));
    for (const field of this.#fields) {
      const anomaly = field.add(record);
      if (anomaly !== null) this.#found(anomaly);
    }
    const known = new Set(this.#fields.map(({ policy }) => policy.name));
    for (const { name } of record.vectors) {
      if (known.has(name)) continue;
      this.#extraFields.add(name);
      this.#found(anomalyOf(record, 'undeclaredVectorField', name, `The policy has no vector ${name}.`));
    }
  }

  #addRag({ type, documentId, vectors }: RecordFacts): void {
    if (type !== CHUNK && type !== MANIFEST) return;
    if (documentId !== null) this.#documents.add(documentId);
    if (type === MANIFEST) this.#rag.manifestCount += 1;
    if (type !== CHUNK) return;
    this.#rag.chunkCount += 1;
    if (documentId !== null) this.#rag.withDocument += 1;
    if (vectors.length > 0) this.#rag.withVector += 1;
  }

  #found(anomaly: Anomaly): void {
    this.anomalyCount += 1;
    if (this.anomalies.length < this.#anomaliesMax) this.anomalies.push(anomaly);
  }

  get partitionCount(): number {
    return this.#partitions.size;
  }

  get typeCounts(): WordFrequencies {
    return this.#types.counts();
  }

  get embeddingProviderCounts(): WordFrequencies {
    return this.#providers.counts();
  }

  get embeddingModelCounts(): WordFrequencies {
    return this.#models.counts();
  }

  get extraVectorFieldCounts(): WordFrequencies {
    return this.#extraFields.counts();
  }

  get vectors(): readonly VectorInspection[] {
    return this.#fields.map((field) => field.result());
  }

  get rag(): RagCounts {
    const { chunkCount, manifestCount, withDocument, withVector } = this.#rag;
    return {
      documentCount: this.#documents.size,
      chunkCount,
      manifestCount,
      chunkRecordsWithDocumentIdCount: withDocument,
      chunkRecordsWithVectorCount: withVector,
      chunkRecordsWithoutVectorCount: chunkCount - withVector,
    };
  }
}

/** One vector of the policy. */
class FieldCounts {
  readonly policy: VectorPolicy;
  readonly #models = new Counter();
  readonly #sourceFields = new Counter();
  readonly #counts = { present: 0, missing: 0, notApplicable: 0, empty: 0, mismatched: 0 };

  constructor(policy: VectorPolicy) {
    this.policy = policy;
  }

  add(record: RecordFacts): Anomaly | null {
    const { name, dimensions } = this.policy;
    const vector = record.vectors.find((each) => each.name === name);
    if (vector === undefined) {
      if (record.type === MANIFEST) this.#counts.notApplicable += 1;
      else this.#counts.missing += 1;
      if (record.type === MANIFEST) return null;
      return anomalyOf(record, 'missingPolicyVector', name, `The record has no vector ${name}.`);
    }
    this.#counts.present += 1;
    if (vector.model !== null) this.#models.add(vector.model);
    if (vector.sourceField !== null) this.#sourceFields.add(vector.sourceField);
    if (vector.dimensions === 0) {
      this.#counts.empty += 1;
      return anomalyOf(record, 'emptyVector', name, `The vector ${name} has no numbers.`);
    }
    if (vector.dimensions === dimensions) return null;
    this.#counts.mismatched += 1;
    const message = `The vector ${name} has not the dimensions of its policy.`;
    const details = {
      policyDimensions: dimensions,
      vectorDimensions: vector.dimensions,
      valueCount: vector.dimensions,
    };
    return { ...anomalyOf(record, 'dimensionMismatch', name, message), details };
  }

  result(): VectorInspection {
    const { present, missing, notApplicable, empty, mismatched } = this.#counts;
    return {
      policy: this.policy,
      presentCount: present,
      missingCount: missing,
      notApplicableCount: notApplicable,
      emptyCount: empty,
      dimensionMismatchCount: mismatched,
      policyCoverage: present + missing === 0 ? 1 : present / (present + missing),
      modelCounts: this.#models.counts(),
      sourceFieldCounts: this.#sourceFields.counts(),
    };
  }
}

function anomalyOf(
  { id, partitionKey, type }: RecordFacts,
  kind: Anomaly['kind'],
  field: string | null,
  message: string,
): Anomaly {
  return { kind, id, partitionKey, type, field, message, details: {} };
}

function tooManyTerms(record: RecordFacts): Anomaly {
  const { termsLeftOut } = record;
  const message = `No index holds ${termsLeftOut} terms of the record, because it has too many: every search by words reads it.`;
  return { ...anomalyOf(record, 'termsLeftOut', null, message), details: { termsLeftOut } };
}

/** Counts words. */
export class Counter {
  readonly #counts = new Map<string, number>();

  add(word: string): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
  }

  counts(): WordFrequencies {
    const sorted = [...this.#counts].sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1));
    if (sorted.length <= WORDS_MAX) return sorted;
    const rest = sorted.slice(WORDS_MAX).reduce((sum, [, count]) => sum + count, 0);
    return [...sorted.slice(0, WORDS_MAX), [OTHER_WORDS, rest]];
  }
}
