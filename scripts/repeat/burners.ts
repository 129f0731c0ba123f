import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Burns a core in short turns between which it sees the end of its input: the parent closes it, or the parent's end does. */
const program = `
process.stdin.on('end', () => process.exit()).resume();
(function burn() {
  for (const until = performance.now() + 20; performance.now() < until; );
  setImmediate(burn);
})();`;

export class Burners {
  readonly #children: readonly ChildProcess[];

  constructor(count: number) {
    this.#children = Array.from({ length: count }, () =>
      spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'ignore', 'inherit'] }),
    );
    for (const { stdin } of this.#children) stdin?.on('error', () => undefined);
  }

  /** Whether the load of the round was there to its end. */
  get areAlive(): boolean {
    return this.#children.every(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  }

  async stop(): Promise<void> {
    const running = this.#children.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    const ends = running.map((child) => once(child, 'exit'));
    for (const { stdin } of running) stdin?.end();
    await Promise.all(ends);
  }
}
