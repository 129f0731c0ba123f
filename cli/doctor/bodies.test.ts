import { expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { StoreError, type StoreFailure } from '../../functions/store/port.ts';
import { inFolder } from '../../test/support/operator-tool.ts';
import { ProgressLine } from '../progress.ts';
import { BodyWalk, lookAtBodies } from './bodies.ts';

function walkOver(count: number, failureOf: (index: number) => StoreFailure | null) {
  const asked: number[] = [];
  const bodies = Array.from({ length: count }, (_, index) => ({
    place: `x/${index}`,
    name: `body ${index}`,
    verify: () => {
      asked.push(index);
      const failure = failureOf(index);
      return failure === null ? Promise.resolve(1) : Promise.reject(new StoreError(failure, 'EIO'));
    },
  }));
  const kind = { kind: 'object', remedy: 'Mend it.', page: () => Promise.resolve({ bodies, next: null }) };
  const walk = new BodyWalk(
    new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose: false }),
  );
  return { walk, asked, ended: walk.all(kind) };
}

test('a body that cannot be read is a failed check, and the ones behind it are read', async () => {
  const { walk, asked, ended } = walkOver(50, (index) =>
    index === 3 ? 'corrupt' : index % 2 === 0 ? 'unavailable' : null,
  );
  await ended;
  expect(asked).toHaveLength(50);
  expect(walk.verdict).toBe('damaged');
  const checks = walk.checks();
  expect(checks).toHaveLength(27);
  expect(checks[0]).toMatchObject({ status: 'failed', message: 'object body 0 could not be read: EIO.' });
  expect(checks.at(-1)).toMatchObject({
    status: 'failed',
    message: 'Of 50 stored bodies of 24 bytes, 1 are damaged and 25 could not be read.',
  });
});

test('many in a row that cannot be read end the walk', async () => {
  const { walk, asked, ended } = walkOver(50, () => 'unavailable');
  await expect(ended).rejects.toMatchObject({ failure: 'unavailable' });
  expect(asked).toHaveLength(20);
  expect(walk.found).toHaveLength(20);
});

test.each([
  ['none', () => null, 'sound'],
  ['one that cannot be read', (index: number) => (index === 3 ? 'unavailable' : null), 'not read'],
] as const)('with %s at fault the verdict is right', async (_, failureOf, verdict) => {
  const { walk, ended } = walkOver(5, failureOf);
  await ended;
  expect(walk.verdict).toBe(verdict);
});

test('a database that cannot be opened says nothing about its bodies', () =>
  inFolder(async (folder) => {
    const input = {
      host: 'embedded',
      env: {},
      argv: [`--data-dir=${folder}`],
      readFile: () => undefined,
    } as const;
    const { settings } = loadConfiguration(input);
    if (settings === undefined) throw new Error('The settings have a fault.');
    expect(await lookAtBodies(settings, false)).toMatchObject({
      verdict: 'not read',
      checks: [{ status: 'failed' }],
    });
  }));
