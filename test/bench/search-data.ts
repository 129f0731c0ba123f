/** The records and queries of the search benchmark: the same in every process, since each number comes from a seed. */

const VOCABULARY = 50_000;
const WORDS = 200;
const KINDS = 100;
const PARTITIONS = 16;
const CLUSTERS = 1_000;
/** How far a vector lies from the center of its cluster, beside the distance between centers. */
const SPREAD = 0.6;
const QUERIES_FROM = 2 ** 31;

export const KIND_PATH = '/metadata/kind';
export const FIELD = 'main';

/** How many dimensions, and whether vectors lie around centers, as embeddings do, or anywhere. */
export interface VectorShape {
  readonly dimensions: number;
  readonly clustered: boolean;
}

/** The policy of a collection of such records. */
export function searchPolicy(name: string, { dimensions }: VectorShape) {
  return {
    name,
    indexedMetadata: [KIND_PATH, '/metadata/year'],
    vectorPolicies: [
      { name: FIELD, path: `/vectors/${FIELD}/values`, dimensions, distanceFunction: 'cosine' },
    ],
  };
}

/** Numbers from 0 to 1, below 1, the same for the same seed. */
function seeded(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Vectors by the number of their record; those of queries come from the same clusters. */
export class SearchVectors {
  readonly #shape: VectorShape;
  readonly #centers: Float32Array;

  constructor(shape: VectorShape) {
    this.#shape = shape;
    const center = gaussian(19);
    this.#centers = shape.clustered
      ? Float32Array.from({ length: CLUSTERS * shape.dimensions }, center)
      : new Float32Array();
  }

  of(record: number): Float32Array {
    const { dimensions, clustered } = this.#shape;
    const around = gaussian(record + 1_000_003);
    const from = (record % CLUSTERS) * dimensions;
    // Eight digits, as embeddings are printed.
    return Float32Array.from({ length: dimensions }, (_, index) =>
      clustered ? this.#centers[from + index]! + SPREAD * around() : around(),
    );
  }

  query(number: number): Float32Array {
    return this.of(QUERIES_FROM + number * 7_919);
  }
}

/** Texts of words that are as frequent as in a language: the word of rank r as often as 1/r. */
export class SearchTexts {
  readonly #words: readonly string[];
  readonly #sums = new Float64Array(VOCABULARY);

  constructor() {
    const random = seeded(7);
    const known = new Set<string>();
    while (known.size < VOCABULARY) known.add(wordOf(random, known.size));
    this.#words = [...known];
    let sum = 0;
    for (let rank = 0; rank < VOCABULARY; rank += 1) this.#sums[rank] = sum += 1 / (rank + 1);
  }

  of(record: number): string {
    const random = seeded(record + 500_009);
    return Array.from({ length: WORDS }, () => this.#words[this.#rankOf(random())]).join(' ');
  }

  /** Three words that this share of all records hold, at least one of them; `number` varies the words. */
  query(share: number, number: number): string {
    const expected = share / 3;
    const total = this.#sums[VOCABULARY - 1]!;
    const rank = Math.floor(WORDS / (-Math.log(1 - expected) * total));
    return [0, 1, 2].map((word) => this.#words[rank - 8 + ((number * 3 + word) % 16)]).join(' ');
  }

  #rankOf(share: number): number {
    const sought = share * this.#sums[VOCABULARY - 1]!;
    let [low, high] = [0, VOCABULARY - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sums[middle]! < sought) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** One record of a hundred has the kind of its number. */
export function kindOf(record: number): string {
  return `kind-${(record * 37) % KINDS}`;
}

/** A record as a caller sends it. */
export function searchRecord(record: number, text: string | null, vector: Float32Array): object {
  return {
    id: `document-${record}`,
    partitionKey: `p-${record % PARTITIONS}`,
    type: 'document',
    metadata: { kind: kindOf(record), year: 1900 + (record % 120), title: `Title ${record}` },
    ...(text === null ? {} : { content: { text } }),
    vectors: { [FIELD]: { values: printed(vector) } },
  };
}

/** Eight digits, as services print embeddings. */
export function printed(vector: Float32Array): number[] {
  return Array.from(vector, (value) => Number(value.toPrecision(8)));
}

const SYLLABLES =
  'ba be bi bo da de di do fa fe ga go ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to va ve vi vo st tr nd'.split(
    ' ',
  );

/** Frequent words are short. */
function wordOf(random: () => number, rank: number): string {
  const syllables = rank < 200 ? 1 : rank < 3_000 ? 2 : 3;
  const count = syllables + Math.floor(random() * 3);
  return Array.from({ length: count }, () => SYLLABLES[Math.floor(random() * SYLLABLES.length)]).join('');
}

/** Normally distributed numbers, about. */
function gaussian(seed: number): () => number {
  const next = seeded(seed);
  return () => next() + next() + next() + next() - 2;
}
