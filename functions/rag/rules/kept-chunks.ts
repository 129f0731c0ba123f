import { ServiceError } from '../../kernel/errors.ts';
import type { StoredChunk } from './stored-chunks.ts';

/** The limit for the records with all hashes of the largest document; a job has no other limit on these bytes. */
const KEPT_CHARACTERS_MAX = 128 * 1024 * 1024;
/** The approximate bytes of the objects of one record, beside their texts. */
const OVERHEAD = 400;

/** The members of compared records that a plan keeps. Each record is kept once, also if several lookups find it. */
export class KeptChunks {
  readonly #count: (characters: number) => void;
  readonly #advice: string;
  readonly #chunks = new Map<string, StoredChunk>();
  #characters = 0;

  /** `count` receives the bytes of all kept records; `advice` is the remedy in the refusal. */
  constructor(count: (characters: number) => void, advice: string) {
    this.#count = count;
    this.#advice = advice;
  }

  get all(): Iterable<StoredChunk> {
    return this.#chunks.values();
  }

  /** Throws `query_budget_exceeded` if the records of the plan have too much metadata. */
  keep(chunk: StoredChunk): StoredChunk {
    const key = JSON.stringify([chunk.partitionKey, chunk.id]);
    const known = this.#chunks.get(key);
    if (known !== undefined) return known;
    const characters = key.length + charactersOf(chunk);
    this.#count(characters);
    this.#characters += characters;
    if (this.#characters > KEPT_CHARACTERS_MAX) {
      const detail = `The records that the document is compared with have more than ${KEPT_CHARACTERS_MAX} characters in the metadata of their chunks. ${this.#advice}`;
      throw new ServiceError('query_budget_exceeded', detail);
    }
    this.#chunks.set(key, chunk);
    return chunk;
  }
}

function charactersOf({ id, partitionKey, type, schemaVersion, metadata, vector }: StoredChunk): number {
  const values = [id, partitionKey, type, schemaVersion, vector?.model, vector?.sourceField];
  let sum = OVERHEAD;
  for (const value of [...values, ...Object.values(metadata)])
    if (typeof value === 'string') sum += value.length;
  return sum;
}
