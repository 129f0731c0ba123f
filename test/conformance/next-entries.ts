import {
  type EntryFormat,
  type EntryFormats,
  newestFormat,
} from '../../functions/collections/search/formats.ts';

/** The format of this release, and one that a next release could have. */
export const thisFormat = newestFormat();

const PREFIX = 4;
const lacking: Readonly<Record<string, string>> = { morewords: 'lackswords', moreprefixes: 'lacksprefixes' };

const reversed = (text: string) => Array.from(text).reverse().join('');
const prefixOf = (word: string) => {
  const characters = Array.from(word);
  return characters.length < PREFIX ? null : `4${characters.slice(0, PREFIX).join('')}`;
};
const wholeTerm = (word: string) => `w${reversed(word)}`;

/** The terms of a record in the next format, from those of this one. */
export function nextTerms(terms: readonly string[]): readonly string[] {
  const words = terms.flatMap((term) => (term.startsWith('t') ? [term.slice(1)] : []));
  return [
    ...words.map((word) => wholeTerm(word)),
    ...new Set(words.flatMap((word) => prefixOf(word) ?? [])),
    ...terms.flatMap((term) => lacking[term] ?? []),
  ];
}

/** Whole words backwards, prefixes of another length, lexicons backwards, other slots: read by the other format, all are wrong. */
export const nextFormat: EntryFormat = {
  version: thisFormat.version + 1,
  marks: '<>',
  *entryOf(...given) {
    const {
      entry: { wordCounts: _, ...entry },
      termsLeftOut,
    } = yield* thisFormat.entryOf(...given);
    const vectors = entry.vectors.map((vector) => ({ ...vector, slot: `${vector.slot}zz` }));
    const lexicon = `${entry.lexicon.startsWith('=') ? '<' : '>'}${reversed(entry.lexicon.slice(1))}`;
    return { entry: { ...entry, terms: nextTerms(entry.terms), lexicon, vectors }, termsLeftOut };
  },
  wordTerm: (word) => wholeTerm(thisFormat.wordTerm(word).slice(1)),
  prefixTerm: prefixOf,
  moreTerm: (terms) => (terms.every((term) => term.startsWith('w')) ? 'lackswords' : 'lacksprefixes'),
  lexicon: (stored) => `${stored.startsWith('<') ? '=' : '~'}${reversed(stored.slice(1))}`,
  slots: (policy) =>
    new Map([...thisFormat.slots(policy)].map(([name, slot]) => [name, { ...slot, slot: `${slot.slot}zz` }])),
};

export const nextFormats: EntryFormats = [thisFormat, nextFormat];
