import { expect, test } from 'vitest';
import { echoHandlers, echoOptions } from '../../test/wire/fixture/echo.ts';
import { JsonText } from '../kernel/json-value-text.ts';
import { createChain } from './chain.ts';
import { inject } from './host-inject.ts';
import { createLargeAnswers } from './large-answers.ts';
import { createSharedCapacity } from './shared-capacity.ts';

/** The turns of the event loop that lie between two large answers. */
const TURNS = 64;

const LARGE = new JsonText(JSON.stringify({ a: 'x'.repeat(2 * 1024 * 1024) }));

test('large answers that are ready in the same moment are written one by one', async () => {
  const callbacks: (() => void)[] = [];
  const nextTurn = async () => {
    for (const callback of callbacks.splice(0)) callback();
    // Runs all work that needs no further turn.
    await new Promise((resolve) => setImmediate(resolve));
  };
  let ready = Promise.withResolvers<void>();
  const echo = async () => {
    await ready.promise;
    return { status: 200, body: LARGE } as const;
  };
  const options = echoOptions({ handlers: { ...echoHandlers(), echo } });
  const large = createLargeAnswers((callback) => callbacks.push(callback));
  const chain = createChain(options, { ...createSharedCapacity(options), large });
  let written = 0;
  const ask = async () => {
    const answer = await inject(chain, {
      method: 'POST',
      path: '/canonical/tenants/t/echo',
      body: { a: 1 },
    });
    expect([answer.status, answer.body.length]).toEqual([200, LARGE.text.length]);
    written += 1;
  };
  // From here on the operation is one with large answers.
  ready.resolve();
  await ask();
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  ready = Promise.withResolvers();
  written = 0;
  const all = [ask(), ask(), ask()];
  await nextTurn();
  ready.resolve();
  await nextTurn();
  const counts = [written];
  for (let round = 1; round < 3; round += 1) {
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    counts.push(written);
  }
  expect(counts).toEqual([1, 2, 3]);
  await Promise.all(all);
});
