/** Words as the planner compares them: without endings, and without words that name nothing. */

const EMPTY = new Set(
  'a an and are as at be by each for from has have how i in into is it its many no of on one only or other so such that the their them then there these this those to use was what when where which who with svc v1'.split(
    ' ',
  ),
);

/** What values of closed sets mean where their description does not say it: every programmer reads them so. */
const MEANINGS: Readonly<Record<string, string>> = {
  eq: 'equal',
  neq: 'differ not equal',
  in: 'among list',
  gt: 'greater after newer',
  gte: 'least',
  lt: 'less before older',
  lte: 'most',
  exists: 'present',
  asc: 'ascending oldest smallest first',
  desc: 'descending newest largest first',
  startsWith: 'begin',
};

const known = new Map<string, readonly string[]>();

export function wordsOf(text: string): readonly string[] {
  const words = known.get(text) ?? readWords(text);
  known.set(text, words);
  return words;
}

function readWords(text: string): readonly string[] {
  const words = text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !EMPTY.has(word));
  return [...new Set(words.map(stemOf))];
}

function stemOf(word: string): string {
  const stem = word.replace(/(?:ies|y)$/, 'i').replace(/(?:ing|ed|es|s|e)$/, '');
  return stem.length < 3 ? word : stem;
}

export function commonWords(asked: readonly string[], text: string): number {
  const words = wordsOf(text);
  return asked.filter((word) => words.includes(word)).length;
}

/** The value of a closed set that the words ask for: by its name, its meaning, or the clause of the description that names it. */
export function chosenValue(words: string, values: readonly string[], description: string): string | null {
  const asked = wordsOf(words);
  const namesOf = (clause: string) => values.filter((value) => new RegExp(`\\b${value}\\b`).test(clause));
  // A clause that names several values says nothing of one.
  const clauses = description.split(/[.,;:]| and | or /).filter((clause) => namesOf(clause).length === 1);
  const scored = values.map((value) => {
    const named = clauses.filter((clause) => namesOf(clause).includes(value));
    return { value, score: commonWords(asked, [value, MEANINGS[value] ?? '', ...named].join(' ')) };
  });
  return best(scored)?.value ?? null;
}

/** The item with the highest score, if there is one alone. */
export function best<Item extends { readonly score: number }>(items: readonly Item[]): Item | null {
  const [first, second] = [...items].sort((one, two) => two.score - one.score);
  if (first === undefined || first.score === 0 || first.score === second?.score) return null;
  return first;
}
