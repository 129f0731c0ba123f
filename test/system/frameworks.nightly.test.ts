import { globSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Peer } from '../bench/install-peer.ts';
import { DELIVERED, Workshop } from './frameworks.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await Workshop.open();
});
afterAll(() => workshop[Symbol.asyncDispose]());

interface Runtime {
  readonly peer: Peer;
  /** Their packages bring the program in a package for the machine. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Each takes some 100 MB: by day a program of `node:http` serves the same recipe. */
const runtimes: Readonly<Record<string, Runtime>> = {
  Bun: { peer: { name: 'bun', version: '1.4.5' }, program: '@oven/*/bin/bun', args: ['server.ts'] },
  Deno: {
    peer: { name: 'deno', version: '2.9.6' },
    program: '@deno/*/deno',
    args: ['serve', '--port', '0', '-A', 'server.ts'],
  },
};

test.for(Object.entries(runtimes))(
  '%s delivers runs and refuses all else',
  async ([name, { peer, program, args }], { skip }) => {
    const made = await workshop.furnished(name, [peer], new Map());
    const [command] = 'why' in made ? [] : globSync(program, { cwd: made.installed });
    if ('why' in made || command === undefined) {
      skip('why' in made ? made.why : `there is no ${name} for this machine`);
      return;
    }
    await using running = workshop.program(made.place, args, join(made.installed, command));
    const [, port] = await running.says(/http:\/\/[^\s:]+:(\d+)/);
    expect(await workshop.pushedTo(`http://127.0.0.1:${port}`)).toEqual(DELIVERED);
  },
);
