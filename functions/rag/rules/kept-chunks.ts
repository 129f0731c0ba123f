import { ServiceError } from '../../kernel/errors.ts';
import type { StoredChunk } from './stored-chunks.ts';

/** Room for the records with all hashes of the largest document; a job counts its bytes nowhere else. */
const KEPT_CHARACTERS_MAX = 128 * 1024 * 1024;
/** What the objects of one record take beside their texts, about. */
const OVERHEAD = 400;

/** What a plan keeps of the records that it compares, each once, however often it is found. */
export class KeptChunks {
  readonly #count: (characters: number) => void;
  readonly #advice: string;
  readonly #chunks = new Map<string, StoredChunk>();
  #characters = 0;

  /** `count` learns of all that is kept; `advice` says what the caller can do where it is too much. */
  constructor(count: (characters: number) => void, advice: string) {
    this.#count = count;
    this.#advice = advice;
  }

  get all(): Iterable<StoredChunk> {
    return this.#chunks.values();
  }

  /** Throws `query_budget_exceeded` where the records of the plan have too much metadata. */
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
