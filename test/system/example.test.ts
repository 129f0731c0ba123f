import { expect, it } from 'vitest';
import { Program, root } from './program.ts';

it('the claims example ends with a complete projection', async () => {
  await using example = new Program(['examples/claims/run.ts', '--claims', '200'], { cwd: root });
  expect(await example.exit).toEqual({ code: 0, signal: null });
  expect(example.stdout).toContain('The projection is complete');
  expect(example.stderr).toContain('The dispatcher was killed');
});
