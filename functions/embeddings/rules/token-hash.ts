import { hash } from 'node:crypto';
import { stopWords } from '../../collections/search/query-words.ts';
import { eachWord } from '../../collections/search/words.ts';

const GRAM_CHARACTERS = 3;
const WORD_WEIGHT = 1;
const STOP_WORD_WEIGHT = 0.15;
const GRAM_WEIGHT = 0.2;
const PAIR_WEIGHT = 1.35;

/**
 * A vector of length 1 by the words of a text: each word, its runs of three characters and each pair of neighbours is a feature,
 * whose hash gives a place and a sign. Texts that share words are near each other; their meaning has no effect. A step is one feature.
 */
export function* tokenHashVector(text: string, dimensions: number): Generator<void, Float32Array> {
  const vector = new Float32Array(dimensions);
  let word: string | undefined;
  for (const following of eachWord(text.toLowerCase())) {
    if (word !== undefined) yield* addWord(vector, word, following);
    word = following;
  }
  if (word === undefined) addFeature(vector, 'empty', WORD_WEIGHT);
  else yield* addWord(vector, word, undefined);
  return scaledToLength1(vector);
}

function* addWord(vector: Float32Array, word: string, following: string | undefined): Generator<void, void> {
  const isStopWord = stopWords.has(word);
  addFeature(vector, `tok:${word}`, isStopWord ? STOP_WORD_WEIGHT : WORD_WEIGHT);
  yield;
  if (!isStopWord)
    for (const gram of gramsOf(word)) {
      addFeature(vector, `tri:${gram}`, GRAM_WEIGHT);
      yield;
    }
  if (following === undefined || (isStopWord && stopWords.has(following))) return;
  addFeature(vector, `bi:${word} ${following}`, PAIR_WEIGHT);
}

/** The runs of three characters of a word, in order; a shorter word is one run. */
function* gramsOf(word: string): Generator<string, void> {
  const last: string[] = [];
  let count = 0;
  for (const character of word) {
    last.push(character);
    if (last.length < GRAM_CHARACTERS) continue;
    yield last.join('');
    last.shift();
    count += 1;
  }
  if (count === 0) yield word;
}

/** Adds in single precision, as the elements are stored. */
function addFeature(vector: Float32Array, feature: string, weight: number): void {
  const digest = hash('sha256', feature, 'buffer');
  const place = digest.readUInt32LE(0) % vector.length;
  const sign = digest.readUInt32LE(4) % 2 === 0 ? 1 : -1;
  vector[place] = (vector[place] ?? 0) + Math.fround(sign * weight);
}

function scaledToLength1(vector: Float32Array): Float32Array {
  const squares = vector.reduce((sum, value) => sum + value * value, 0);
  if (squares === 0) return vector;
  const scale = 1 / Math.sqrt(squares);
  return vector.map((value) => value * scale);
}
