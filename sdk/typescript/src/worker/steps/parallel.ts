import { Branch, branchHere, inBranch } from './branches.ts';
import type { Execution } from './execution.ts';

/** Branches of a handler, side by side. */

type Works = readonly (() => unknown)[];

/** Each in a branch of its own. Rejects with the first error. */
export async function all(execution: Execution, works: Works): Promise<unknown[]> {
  const parent = branchHere(execution.root);
  return branched(execution, works.length, (ended) =>
    Promise.all(works.map((work, at) => inBranch(new Branch(parent, works, at), work).finally(ended))),
  );
}

/** At most `concurrency` branches at a time. */
export async function map<Item>(
  execution: Execution,
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, index: number) => unknown,
): Promise<unknown[]> {
  if (!(concurrency >= 1)) throw new TypeError('concurrency must be a whole number from 1.');
  const parent = branchHere(execution.root);
  const results: unknown[] = [];
  const left = items.entries();
  const group = {};
  const lanes = Math.min(Math.floor(concurrency), items.length);
  let hasFailed = false;
  const lane = async () => {
    for (const [index, item] of left) {
      if (hasFailed) return;
      try {
        const branch = new Branch(parent, group, index);
        // A later item begins when an earlier one ends.
        branch.isPrompt = index < lanes;
        results[index] = await inBranch(branch, () => work(item, index));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await branched(execution, lanes, (ended) =>
    Promise.all(Array.from({ length: lanes }, () => lane().finally(ended))),
  );
  return results;
}

/**
 * The first branch that ends wins; the others end with their operations. The journal keeps which one won, so that it wins
 * in each execution.
 */
export async function race(execution: Execution, name: string, works: Works): Promise<unknown> {
  if (works.length === 0) throw new TypeError('A race needs a branch.');
  const parent = branchHere(execution.root);
  const { key, found } = execution.enter('mark', name);
  const won = typeof found?.v === 'number' && found.v < works.length ? found.v : null;
  const branches = works.map((_, at) => new Branch(parent, works, at));
  // The others are called too, for the count of their names, and begin nothing.
  const ends = (winner: number) => {
    for (const [at, each] of branches.entries()) if (at !== winner) each.end();
  };
  if (won !== null) ends(won);
  const answers = works.map((work, at) => inBranch(branches[at] as Branch, work));
  for (const answer of answers) answer.catch(() => undefined);
  const first = answers.map((answer, at) =>
    answer.then(
      () => at,
      () => at,
    ),
  );
  const winner = won ?? (await branched(execution, works.length, () => Promise.race(first)));
  ends(winner);
  if (won === null) {
    const entry = { k: key, t: 'mark', v: winner, at: execution.now() } as const;
    await execution.scheduler.work(() => execution.writer.put(entry));
  }
  return answers[winner];
}

/** Counts the branches; the one that waits for them is none. */
async function branched<T>(
  execution: Execution,
  count: number,
  work: (ended: () => void) => Promise<T>,
): Promise<T> {
  let left = count;
  let isOver = false;
  const ended = () => {
    if (isOver) return;
    left -= 1;
    execution.scheduler.branched(-1);
  };
  execution.scheduler.branched(count - 1);
  try {
    return await work(ended);
  } finally {
    isOver = true;
    execution.scheduler.branched(1 - left);
  }
}
