import { expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { StoreError, type StoreFailure } from '../../functions/store/port.ts';
import { ProgressLine } from '../progress.ts';
import { BodyWalk } from './bodies.ts';

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
