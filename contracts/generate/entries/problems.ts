import type { AuthorizationClass, CatalogOperation } from '../catalog.ts';
import { pathNames } from '../catalog.ts';
import type { EntrySource, ImpliedCase } from './types.ts';

type Facts = Pick<
  CatalogOperation,
  'routes' | 'parameters' | 'rateClass' | 'mutation' | 'completion' | 'request'
>;

/** When the codes of `impliedProblems` in `shared.json` belong to an operation. An unknown class brings none. */
const IMPLIED: Readonly<
  Record<ImpliedCase, (facts: Facts, known: AuthorizationClass | undefined) => boolean>
> = {
  everyRequest: () => true,
  rateLimit: ({ rateClass }, known) => rateClass !== null && known !== undefined && known.rateClass !== null,
  authenticated: (_, known) => known !== undefined && known.accessOperations.length > 0,
  pathParameter: ({ routes }) => routes.some(({ path }) => pathNames(path).length > 0),
  continuationToken: ({ parameters }) => parameters.some(({ name }) => name === 'continuationToken'),
  requestBody: ({ request }) => request !== null,
  write: ({ mutation }) => mutation !== 'read',
  jobAdmission: ({ completion }) => completion === 'receipt-bound',
};

export interface ProblemSources {
  readonly implied: Readonly<Record<ImpliedCase, readonly string[]>>;
  /** The codes of a set by its name; `undefined` for a code. */
  readonly setOf: (name: string) => readonly string[] | undefined;
  /** Every code in the order of `errors.json`. */
  readonly order: readonly string[];
}

/**
 * The codes that an operation answers: those that follow from its facts, less `withoutProblems`, and those that the entry
 * names. In the order of `errors.json`, except where `problemsBefore` says otherwise.
 */
export function problemsOf(
  { problems = [], withoutProblems = [], problemsBefore = {} }: EntrySource,
  facts: Facts,
  known: AuthorizationClass | undefined,
  { implied, setOf, order }: ProblemSources,
): readonly string[] {
  const followed = Object.entries(IMPLIED)
    .filter(([, holds]) => holds(facts, known))
    .flatMap(([name]) => implied[name as ImpliedCase])
    .filter((code) => !withoutProblems.includes(code));
  const named = problems.flatMap((name) => setOf(name) ?? [name]);
  const place = (code: string): number => {
    const before = problemsBefore[code];
    const at = order.indexOf(before ?? code) * 2 - (before === undefined ? 0 : 1);
    return at < -1 ? Number.POSITIVE_INFINITY : at;
  };
  return [...new Set([...followed, ...named])].toSorted((a, b) => place(a) - place(b) || 0);
}
