/**
 * Processes at most `atOnce` items at a time. After a failure it starts no more, and throws when the others have
 * ended.
 */
export async function forEachBounded<T>(
  items: AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  let failed = false;
  const lane = async (): Promise<void> => {
    while (!failed) {
      try {
        const next = await iterator.next();
        if (next.done === true) return;
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  if (failed) await iterator.return?.();
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
}
