import type { PathStep, Traversed } from './traverse.ts';

/** Steps of all ways of one answer: the ways of a long chain grow with its square. */
const STEPS_MAX = 50_000;

export interface Paths {
  /** The way to each node, from its start; empty for a start. */
  readonly paths: Readonly<Record<string, readonly PathStep[]>>;
  /** Whether ways were left out, because all together would be too long. */
  readonly truncated: boolean;
}

export function pathsOf({ steps }: Pick<Traversed, 'steps'>): Paths {
  const paths: [string, readonly PathStep[]][] = [];
  let left = STEPS_MAX;
  for (const [id, last] of steps) {
    left -= last?.depth ?? 0;
    if (left < 0) return { paths: Object.fromEntries(paths), truncated: true };
    paths.push([id, wayTo(last, steps)]);
  }
  return { paths: Object.fromEntries(paths), truncated: false };
}

function wayTo(last: PathStep | null, steps: Traversed['steps']): readonly PathStep[] {
  const way: PathStep[] = [];
  for (let step = last; step !== null; step = steps.get(step.from) ?? null) way.push(step);
  return way.reverse();
}
