import type * as judgeRecords from '../../functions/collections/judge-records.ts';
import type * as driver from '../../functions/collections/rules/driver.ts';
import type * as storedText from '../../functions/collections/rules/stored-text.ts';
import type * as candidateOrder from '../../functions/collections/search/candidate-order.ts';
import type * as fields from '../../functions/collections/search/fields.ts';
import type * as leaves from '../../functions/collections/search/leaves.ts';
import type * as plan from '../../functions/collections/search/plan.ts';
import type * as queryWords from '../../functions/collections/search/query-words.ts';
import type * as scoring from '../../functions/collections/search/scoring.ts';
import type * as slots from '../../functions/collections/search/slots.ts';
import type * as terms from '../../functions/collections/search/terms.ts';
import type * as vectorQuery from '../../functions/collections/search/vector-query.ts';
import type * as words from '../../functions/collections/search/words.ts';
import type * as among from '../../functions/collections/search-among.ts';
import type * as answer from '../../functions/collections/search-answer.ts';
import type * as indexWalk from '../../functions/collections/search-index-walk.ts';
import type * as reader from '../../functions/collections/search-reader.ts';

/** A planted bug: one function of the flow or of its rules does something else. */
export interface Flaw {
  readonly name: string;
  readonly kind: 'words' | 'vectors';
  readonly store: 'memory' | 'memory that narrows nothing';
  /** Below `functions/collections/`. */
  readonly module: string;
  /** Answers the replacements of the module's exports. */
  readonly plant: (module: never) => object;
}

function inWords<Module>(name: string, module: string, plant: (module: Module) => Partial<Module>): Flaw {
  return { name, module, kind: 'words', store: 'memory', plant };
}

function inVectors<Module>(
  name: string,
  module: string,
  plant: (module: Module) => Partial<Module>,
  store: Flaw['store'] = 'memory',
): Flaw {
  return { name, module, kind: 'vectors', store, plant };
}

export const flaws: readonly Flaw[] = [
  inWords<typeof judgeRecords>('forgets the conditions', 'judge-records.ts', () => ({
    isAdmitted: () => Promise.resolve(true),
  })),
  inWords<typeof words>('tells large letters from small ones', 'search/words.ts', () => ({
    normalText: (text) => text.replace(/\s+/g, ' ').trim(),
  })),
  inWords<typeof queryWords>('scores stop words', 'search/query-words.ts', (module) => ({
    readQueryWords: (query, pointer) => {
      const read = module.readQueryWords(query, pointer);
      const looseTerms = [...new Set(query.toLowerCase().match(/[\p{L}\p{Nd}]+/gu) ?? [])];
      return { ...read, terms: looseTerms, looseTerms };
    },
  })),
  inWords<typeof terms>('looks for a short prefix among the long ones', 'search/terms.ts', (module) => ({
    prefixTerm: (prefix) => module.prefixTerm(prefix)?.replace(/^3/, '5') ?? null,
  })),
  inWords<typeof leaves>('leaves booleans out', 'search/leaves.ts', (module) => ({
    leavesOf: (text) => module.leavesOf(text.replaceAll(/:(?:true|false)/g, ':null')),
  })),
  inWords<typeof fields>(
    'takes any boost for the one of the longest pointer',
    'search/fields.ts',
    (module) => ({
      fieldOf: (path, selection) => {
        const first = [...selection.fieldBoosts].find(([pointer]) => path.startsWith(pointer));
        return { ...module.fieldOf(path, selection), boost: first?.[1] ?? 1 };
      },
    }),
  ),
  inWords<typeof plan>('walks the first demand and not the smallest', 'search/plan.ts', (module) => ({
    planLexical: (...given) => {
      const found = module.planLexical(...given);
      return { ...found, walk: (counts) => found.walk(counts.map(() => 1)) };
    },
  })),
  inWords<typeof plan>('prefers no candidate that holds more of the words', 'search/plan.ts', () => ({
    heldBy: () => 1,
  })),
  inWords<typeof candidateOrder>(
    'takes candidates in the order in which it finds them',
    'search/candidate-order.ts',
    ({ CandidateOrder }) => ({
      CandidateOrder: class<Found extends candidateOrder.WalkedRecord> extends CandidateOrder<Found> {
        override take(): readonly Found[] {
          return this.takeAll();
        }
      },
    }),
  ),
  inWords<typeof scoring>(
    'takes the parameters of saturation for each other',
    'search/scoring.ts',
    (module) => ({
      scoresOf: (readings, corpus, query) =>
        module.scoresOf(readings, corpus, { ...query, k1: query.b, b: query.k1 }),
    }),
  ),
  inWords<typeof scoring>('multiplies the hits of coverage by the boosts', 'search/scoring.ts', (module) => ({
    scoresOf: (readings, corpus, query) => {
      const boosted = readings.map((each) => ({
        ...each,
        hits: each.weights.reduce((sum, one) => sum + one, 0),
      }));
      return module.scoresOf(boosted, corpus, query);
    },
  })),
  inWords<typeof scoring>('counts one candidate too many', 'search/scoring.ts', (module) => ({
    *corpusOf(readings, count) {
      const corpus = yield* module.corpusOf(readings, count);
      return { ...corpus, idf: corpus.idf.map((each) => each * 1.01 + 0.1) };
    },
  })),
  inWords<typeof answer>('ends a page one record early', 'search-answer.ts', (module) => ({
    answerPage: async (...given) => {
      const { matches, continuationToken } = await module.answerPage(...given);
      return { matches: matches.slice(0, Math.max(1, matches.length - 1)), continuationToken };
    },
  })),
  inVectors<typeof among>('knows the first partition alone', 'search-among.ts', (module) => ({
    amongOf: (query, incarnation) => {
      const found = module.amongOf(query, incarnation);
      const { idPrefixes } = found ?? {};
      return idPrefixes === undefined ? found : { ...found, idPrefixes: idPrefixes.slice(0, 1) };
    },
  })),
  inVectors<typeof driver>('leaves the end of a range out', 'rules/driver.ts', (module) => ({
    indexedFacts: (...given) => {
      const facts = module.indexedFacts(...given);
      return facts.range === null ? facts : { ...facts, range: { ...facts.range, to: facts.range.from } };
    },
  })),
  inVectors<typeof driver>('takes an alternative for a demand', 'rules/driver.ts', (module) => ({
    indexedFacts: (filter, projected) =>
      module.indexedFacts(
        filter !== null && 'combine' in filter ? { ...filter, combine: 'all' } : filter,
        projected,
      ),
  })),
  inVectors<typeof vectorQuery>('leaves out what scores the least score', 'search/vector-query.ts', () => ({
    isNear: (score, { minScore }) => minScore === null || score > minScore,
  })),
  inVectors<typeof slots>('takes every metric for the cosine', 'search/slots.ts', (module) => ({
    vectorSlots: (policy) =>
      new Map([...module.vectorSlots(policy)].map(([name, slot]) => [name, { ...slot, metric: 'cosine' }])),
  })),
  inVectors<typeof reader>('reads the texts in another order', 'search-reader.ts', (module) => ({
    textsOf: (given, ids) => module.textsOf(given, ids.toReversed()),
  })),
  inVectors<typeof judgeRecords>(
    'answers what an index finds',
    'judge-records.ts',
    () => ({ isAdmitted: () => Promise.resolve(true) }),
    'memory that narrows nothing',
  ),
  inVectors<typeof storedText>(
    'scores another vector of the record',
    'rules/stored-text.ts',
    (module) => ({ vectorIn: (stored) => module.vectorIn(stored, 'cosine')?.map((each) => -each) ?? null }),
    'memory that narrows nothing',
  ),
  inVectors<typeof indexWalk>(
    'believes that an index has no others',
    'search-index-walk.ts',
    ({ IndexWalk }) => ({
      IndexWalk: class extends IndexWalk {
        override async reachesEnd(records: number): Promise<boolean> {
          await super.reachesEnd(records);
          return true;
        }
      },
    }),
    'memory that narrows nothing',
  ),
  inVectors<typeof indexWalk>(
    'orders what an index finds by its ids',
    'search-index-walk.ts',
    ({ IndexWalk }) => ({
      IndexWalk: class extends IndexWalk {
        override best(): ReturnType<InstanceType<typeof IndexWalk>['best']> {
          return super.best().toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
        }
      },
    }),
    'memory that narrows nothing',
  ),
];
