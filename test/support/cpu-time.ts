/**
 * The least processor time that `action` took of this thread, in milliseconds, over `rounds`. Wall-clock time would show
 * the load of the machine rather than the action.
 */
export function shortestCpuMs(rounds: number, action: () => unknown): number {
  let shortest = Infinity;
  for (let round = 0; round < rounds; round += 1) {
    const before = process.threadCpuUsage();
    action();
    const { user, system } = process.threadCpuUsage(before);
    shortest = Math.min(shortest, (user + system) / 1000);
  }
  return shortest;
}
