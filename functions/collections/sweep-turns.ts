/**
 * Works on claimed intents in slices. The spaces take turns, so that a space with much work does not delay the others. `slice`
 * returns whether its intent is done. A failed intent does not stop the others; the first failure is thrown at the end.
 */
export async function sweepInTurns<Intent extends { readonly space: string }>(
  claimed: readonly Intent[],
  isOver: () => boolean,
  slice: (intent: Intent) => Promise<boolean>,
): Promise<void> {
  const queues = Map.groupBy(claimed, ({ space }) => space);
  const failures: unknown[] = [];
  while (queues.size > 0) {
    for (const [space, queue] of queues) {
      const [next] = queue;
      if (next === undefined || isOver()) {
        queues.delete(space);
        continue;
      }
      try {
        if (!(await slice(next))) continue;
      } catch (error) {
        failures.push(error);
      }
      queue.shift();
    }
  }
  if (failures.length > 0) throw failures[0];
}
