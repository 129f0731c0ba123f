import type { Entry } from './entries.ts';

const ITEMS_MAX = 8;

/** The event of a checkpoint with these new results, for the history of the run. Its details have at most 4 KiB. */
export function eventOf(news: readonly Entry[]) {
  const steps = news
    .filter(({ k, t }) => t !== 'mark' && (t === 'undo' || k[0] !== '@'))
    .slice(0, ITEMS_MAX)
    .map(({ k, t: kind, n: attempt = 1, ms, e }) => ({
      name: k.replace(/^@undo:/, ''),
      kind,
      attempt,
      ...(ms === undefined ? {} : { ms }),
      ...(e === undefined ? {} : { error: e.name }),
    }));
  const [first] = steps;
  if (first === undefined) return null;
  return {
    type: steps.some((step) => 'error' in step) ? 'step.failed' : 'step.completed',
    message: steps.map(({ name }) => name).join(', '),
    details: steps.length === 1 ? first : { steps, count: news.length },
  };
}
