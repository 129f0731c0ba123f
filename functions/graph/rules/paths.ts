import type { PathStep, Traversed } from './traverse.ts';

/** The most steps of all paths of one answer: the paths of a long chain grow with its square. */
const STEPS_MAX = 50_000;
/** The most characters of these steps: ids may be long. */
const CHARACTERS_MAX = 4 * 1024 * 1024;

export interface Paths {
  /** The path to each node, from its start; empty for a start. */
  readonly paths: Readonly<Record<string, readonly PathStep[]>>;
  /** Whether paths were omitted, because all together would be too long. */
  readonly truncated: boolean;
}

export function pathsOf({ steps }: Pick<Traversed, 'steps'>): Paths {
  const paths: [string, readonly PathStep[]][] = [];
  const left = { steps: STEPS_MAX, characters: CHARACTERS_MAX };
  for (const [id, last] of steps) {
    left.steps -= last?.depth ?? 0;
    const way = left.steps < 0 ? [] : wayTo(last, steps);
    left.characters -= way.reduce((sum, step) => sum + charactersOf(step), id.length);
    if (left.steps < 0 || left.characters < 0) return { paths: Object.fromEntries(paths), truncated: true };
    paths.push([id, way]);
  }
  return { paths: Object.fromEntries(paths), truncated: false };
}

function wayTo(last: PathStep | null, steps: Traversed['steps']): readonly PathStep[] {
  const way: PathStep[] = [];
  for (let step = last; step !== null; step = steps.get(step.from) ?? null) way.push(step);
  return way.reverse();
}

function charactersOf({ edgeId, from, to, predicate }: PathStep): number {
  return edgeId.length + from.length + to.length + predicate.length;
}
