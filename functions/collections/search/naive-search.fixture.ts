import type { LexicalRequest } from './lexical-query.ts';

/** A record as the second implementation reads it. */
export interface NaiveRecord {
  /** The store's id. */
  readonly id: string;
  readonly partitionKey: string;
  readonly recordId: string;
  /** As the caller wrote it. */
  readonly text: string;
}

interface NaiveMatch {
  readonly id: string;
  readonly score: number;
  readonly base: number;
  readonly fields: readonly string[];
  readonly terms: readonly string[];
}

export interface NaiveAnswer {
  readonly candidates: readonly string[];
  /** Whether there are other candidates. */
  readonly isLimited: boolean;
  readonly matches: readonly NaiveMatch[];
}

type Leaves = readonly (readonly [path: string, text: string])[];

const stop = /^(a|an|and|are|as|at|be|by|for|from|in|is|it|of|on|or|that|the|to|with)$/;

/**
 * A second implementation of lexical search, directly on the records and the request: no terms, no lexicon, no plan. `isInside`
 * judges partition keys, `isAdmitted` all other conditions of a query.
 */
export function naiveSearch(
  records: readonly NaiveRecord[],
  request: LexicalRequest,
  isAdmitted: (record: NaiveRecord) => boolean = () => true,
  isInside: (record: NaiveRecord) => boolean = () => true,
  together = togetherOf(request),
): NaiveAnswer {
  const asked = readAsked(request);
  const docs = records.map((record) => ({ ...record, leaves: leavesOf(record.text) }));
  const possible = docs.filter((doc) => isInside(doc) && isCandidate(doc.leaves, asked));
  const admitted = possible.filter(isAdmitted);
  const limit = request.scanLimit ?? 5_000;
  const isPossible = (id: string) => possible.some((doc) => doc.id === id);
  const order =
    admitted.length > limit ? naiveOrder(docs, asked, together, isPossible) : admitted.map(({ id }) => id);
  const candidates = order.filter((id) => admitted.some((doc) => doc.id === id)).slice(0, limit);
  const pool = candidates.map((id) => docs.find((doc) => doc.id === id)!);
  const scored = score(
    pool.map(({ leaves }) => leaves),
    asked,
    request,
  );
  const matches = pool
    .map((doc, index) => ({ ...doc, ...scored[index]! }))
    .filter(({ score: final, terms }) => {
      const least = request.minScore ?? null;
      const isWhole = request.matchMode !== 'all' || terms.length === asked.terms.length;
      return isWhole && final > 0 && (least === null || final >= new Float32Array([least])[0]!);
    })
    .sort(
      (a, b) =>
        b.score - a.score || byBytes(a.partitionKey, b.partitionKey) || byBytes(a.recordId, b.recordId),
    )
    .slice(0, request.top ?? 50)
    .map(({ id, score: final, base, fields, terms }) => ({ id, score: final, base, fields, terms }));
  return { candidates, isLimited: admitted.length > candidates.length, matches };
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** By code points. */
const charactersOf = (text: string) => Array.from(text);
const beginning = (word: string, count: number) => charactersOf(word).slice(0, count).join('');
const float = (value: number) => new Float32Array([value])[0]!;

/** No letter depends on those beside it. */
const small = (text: string) =>
  charactersOf(text)
    .map((each) => (each === 'ς' ? 'σ' : each.toLowerCase()))
    .join('')
    .replace(/i\u0307+/g, 'i');

/** Letter by letter. */
function tokens(text: string): readonly string[] {
  const found: string[] = [];
  let open = '';
  for (const character of charactersOf(`${small(text)} `)) {
    if (/^(\p{L}|\p{Nd})$/u.test(character)) open += character;
    else if (open !== '') {
      found.push(open);
      open = '';
    }
  }
  return found;
}

const squeezed = (text: string) => small(text).split(/\s/).filter(Boolean).join(' ');

function leavesOf(text: string): Leaves {
  const value: unknown = JSON.parse(text, (_, each: unknown, context?: { source?: string }) =>
    typeof each === 'number' ? { number: context?.source ?? '' } : each,
  );
  const leaves: [string, string][] = [];
  const walk = (path: string, each: unknown) => {
    if (each === null || path === '/vectors') return;
    if (typeof each === 'string') leaves.push([path, each]);
    else if (typeof each === 'boolean') leaves.push([path, each ? 'True' : 'False']);
    else if (Array.isArray(each)) each.forEach((item, index) => walk(`${path}/${index}`, item));
    else if ('number' in (each as object)) leaves.push([path, (each as { number: string }).number]);
    else
      for (const [name, member] of Object.entries(each as object))
        walk(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, member);
  };
  walk('', value);
  const assigned = /^\/(etag|revision|createdAt|updatedAt)$/;
  return leaves.filter(([path]) => !assigned.test(path));
}

interface Asked {
  readonly terms: readonly string[];
  readonly prefixes: readonly string[];
  readonly texts: readonly string[];
  /** Each alternative is a phrase, or one word that may be a prefix. */
  readonly alternatives: readonly Alternative[];
  readonly groups: readonly (readonly Alternative[])[];
  readonly isAll: boolean;
}

interface Alternative {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

function readAsked(request: LexicalRequest): Asked {
  const query = request.query ?? '';
  const quoted = [...query.matchAll(/"([^"]*)"/g)].map(([, inner = '']) => inner);
  const outside = query.replace(/"[^"]*"/g, ' | ');
  const all = [...new Set(tokens(query))];
  const chosen = all.filter((word) => charactersOf(word).length > 1 && !stop.test(word));
  const terms = chosen.length > 0 ? chosen : all;
  const least = request.prefixMinChars ?? 3;
  const prefixes = terms.filter(
    (term) => request.prefixMatching === true && charactersOf(term).length >= least,
  );
  const phrase = (text: string) => ({ words: tokens(text), isPrefix: false });
  return {
    terms,
    prefixes,
    texts: [...quoted, query.replaceAll('"', ' ')].map(squeezed).filter((text) => text !== ''),
    alternatives: [
      ...quoted.map(phrase).filter(({ words }) => words.length > 0),
      ...terms
        .filter((term) => tokens(outside).includes(term))
        .map((term) => ({ words: [term], isPrefix: prefixes.includes(term) })),
    ],
    groups: (request.requiredPhraseGroups ?? []).map((group) => group.map(phrase)),
    isAll: request.matchMode === 'all',
  };
}

function holds(leaves: Leaves, { words, isPrefix }: Alternative): boolean {
  return leaves.some(([, text]) => {
    const present = tokens(text);
    if (isPrefix) return present.some((token) => token.startsWith(words[0]!));
    return present.some((_, start) => words.every((word, index) => present[start + index] === word));
  });
}

function isCandidate(leaves: Leaves, { alternatives, groups, isAll }: Asked): boolean {
  if (groups.some((group) => !group.some((each) => holds(leaves, each)))) return false;
  if (alternatives.length === 0) return true;
  return isAll
    ? alternatives.every((each) => holds(leaves, each))
    : alternatives.some((each) => holds(leaves, each));
}

/** Records that are considered together: four for each scored one, at least 1,000 and at most 2,000 beyond those. */
function togetherOf({ scanLimit }: LexicalRequest): number {
  const limit = scanLimit ?? 5_000;
  return Math.min(Math.max(4 * limit, 1_000), limit + 2_000);
}

/**
 * The order of candidates if not all are scored. Those that hold the most walked alternatives come first, then partition key and id
 * decide. `together`: the number of candidates that are ordered together, the others after them.
 */
function naiveOrder(
  docs: readonly (NaiveRecord & { leaves: Leaves })[],
  asked: Asked,
  together: number,
  isPossible: (id: string) => boolean,
): readonly string[] {
  const listed = [...docs].sort(
    (a, b) => byBytes(a.partitionKey, b.partitionKey) || byBytes(a.recordId, b.recordId),
  );
  const having = (test: (token: string) => boolean) =>
    listed.filter(({ leaves }) => leaves.some(([, text]) => tokens(text).some(test))).map(({ id }) => id);
  const walk = (name: string, word: string, count: number) => {
    const cut = beginning(word, count);
    return { name: `${name}${cut}`, ids: having((token) => beginning(token, count) === cut) };
  };
  const walkOf = ({ words, isPrefix }: Alternative) => {
    const wholes = [...new Set(words)]
      .sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
      .slice(0, 4)
      .map((word) => walk('t', word, 40));
    if (!isPrefix) return wholes.sort(rarest).slice(0, 1);
    const size = charactersOf(words[0]!).length;
    const count = size < 5 ? 3 : 5;
    return size < 3 ? [] : [...wholes, walk(`${count}`, words[0]!, count)];
  };
  const own = asked.isAll ? asked.alternatives.map((each) => [each]) : [asked.alternatives];
  const demands = [...asked.groups, ...(asked.alternatives.length === 0 ? [] : own)];
  const walks = demands
    .map((demand) => ({ demand, found: demand.map(walkOf) }))
    .filter(({ found }) => found.every((each) => each.length > 0))
    .map(({ demand, found }) => ({
      demand,
      walked: [...new Map(found.flat().map((each) => [each.name, each])).values()].sort(rarest),
    }));
  const [first, ...others] = walks;
  if (first === undefined) return listed.map(({ id }) => id);
  const least = others.reduce((best, each) => (size(each.walked) < size(best.walked) ? each : best), first);
  const offered = [...new Set(least.walked.flatMap(({ ids }) => ids))].filter(isPossible);
  const heldOf = (doc: { leaves: Leaves }) => least.demand.filter((each) => holds(doc.leaves, each)).length;
  return Array.from({ length: Math.ceil(offered.length / together) }, (_, index) => {
    const some = new Set(offered.slice(index * together, (index + 1) * together));
    const rows = listed.filter(({ id }) => some.has(id)).map((doc) => ({ id: doc.id, held: heldOf(doc) }));
    return rows.sort((a, b) => b.held - a.held).map(({ id }) => id);
  }).flat();
}

interface Walk {
  readonly name: string;
  readonly ids: readonly string[];
}

const rarest = (a: Walk, b: Walk) => a.ids.length - b.ids.length || (a.name < b.name ? -1 : 1);
const size = (walked: readonly Walk[]) => walked.reduce((sum, { ids }) => sum + ids.length, 0);

const under = (pointer: string, path: string) => path === pointer || path.startsWith(`${pointer}/`);

const boost = (value: number | null | undefined, standard: number) => float(Math.max(0, value ?? standard));

function score(pool: readonly Leaves[], asked: Asked, request: LexicalRequest) {
  const pointers = request.fields ?? [];
  const selected = (
    pointers.length > 0 ? pointers : ['/content', '/metadata', '/id', '/type', '/sources']
  ).map((pointer) => pointer.trim());
  const boostOf = (path: string) => {
    const leading = Object.entries(request.fieldBoosts ?? {}).filter(([pointer]) => under(pointer, path));
    const [longest] = leading.sort(([a], [b]) => b.length - a.length);
    return Math.max(0, longest?.[1] ?? 1);
  };
  const docs = pool.map((leaves) => {
    const fields = leaves.filter(([path]) => selected.some((pointer) => under(pointer, path)));
    const tf = (term: string, text: string) => {
      const exact = tokens(text).filter((token) => token === term).length;
      if (exact > 0 || !asked.prefixes.includes(term)) return exact;
      return tokens(text).filter((token) => token.startsWith(term)).length;
    };
    return {
      fields,
      length: fields.reduce((sum, [, text]) => sum + tokens(text).length, 0),
      hits: asked.terms.reduce(
        (sum, term) => sum + fields.reduce((found, [, text]) => found + tf(term, text), 0),
        0,
      ),
      weights: asked.terms.map((term) =>
        fields.reduce((sum, [path, text]) => sum + tf(term, text) * boostOf(path), 0),
      ),
      terms: asked.terms.filter((term) => fields.some(([, text]) => tf(term, text) > 0)),
      matched: fields.filter(
        ([, text]) =>
          asked.terms.some((term) => tf(term, text) > 0) ||
          asked.texts.some((phrase) => squeezed(text).includes(phrase)),
      ),
    };
  });
  const average = docs.reduce((sum, { length }) => sum + length, 0) / docs.length;
  const k1 = request.bm25K1 ?? 1.2;
  const b = request.bm25B ?? 0.75;
  const raws = docs.map(({ weights, terms, length, hits }) => {
    const count = asked.terms.length;
    if (request.scoring === 'coverage') {
      return count === 0 ? 0 : 0.8 * (terms.length / count) + 0.2 * Math.min(1, hits / count);
    }
    return weights.reduce((sum, weight, index) => {
      const df = docs.filter((doc) => doc.terms.includes(asked.terms[index]!)).length;
      const idf = Math.log(1 + (docs.length - df + 0.5) / (df + 0.5));
      const norm = k1 * (1 - b + (b * Math.max(1, length)) / Math.max(1, average));
      return sum + (weight > 0 ? (idf * (weight * (k1 + 1))) / (weight + norm) : 0);
    }, 0);
  });
  const highest = request.scoring === 'coverage' ? 1 : Math.max(...raws);
  return docs.map(({ fields, terms, matched }, index) => {
    const base = highest > 0 ? float(raws[index]! / highest) : 0;
    let final = base;
    if (fields.some(([, text]) => asked.texts.some((phrase) => squeezed(text).includes(phrase))))
      final += boost(request.phraseBoost, 0.15);
    if (fields.some(([, text]) => asked.texts.includes(squeezed(text))))
      final += boost(request.exactBoost, 0.25);
    if (matched.some(([path]) => ['/metadata', '/sources', '/id'].some((pointer) => under(pointer, path))))
      final += boost(request.metadataBoost, 0.1);
    return {
      score: float(Math.min(1, final)),
      base,
      fields: matched.map(([path]) => path).sort(),
      terms: [...terms].sort(),
    };
  });
}
