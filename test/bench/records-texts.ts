/** The records of the benchmark: 200 words of text, and metadata of which two members are indexed. */

const WORDS =
  'the quick brown fox jumps over a lazy dog while seven wise owls watch from old oak trees'.split(' ');
export const KINDS = 10;

export const BENCH_POLICY = {
  name: 'bench',
  indexedMetadata: ['/metadata/kind', '/metadata/year'],
};

export function recordText(n: number): string {
  const words = Array.from({ length: 200 }, (_, at) => WORDS[(n * 7 + at * (1 + (n % 5))) % WORDS.length]);
  return JSON.stringify({
    id: `document-${n}`,
    partitionKey: `p-${n % 16}`,
    type: 'document',
    metadata: { kind: `kind-${n % KINDS}`, year: 1900 + (n % 120), title: `Title ${n}`, source: 'bench' },
    content: { text: words.join(' ') },
  });
}
