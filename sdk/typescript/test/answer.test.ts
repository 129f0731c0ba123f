import { describe, expect, test } from 'vitest';
import table from '../../answer-table.json' with { type: 'json' };
import * as sdk from '../src/index.ts';
import { type Answer, ManualTime, Stage, thrown } from './stage.ts';

const wired =
  (wire: string): Answer =>
  ({ socket }) =>
    void socket?.end(Buffer.from(wire, 'latin1'));

function classOf(name: string): typeof sdk.SvcError {
  const Class: unknown = Reflect.get(sdk, name);
  if (typeof Class !== 'function') throw new Error(`there is no ${name}`);
  return Class as typeof sdk.SvcError;
}

describe('what is made of an answer, by the table that all SDKs share', () => {
  test.each(table.cases)('$name', async ({ wire, error, status, code, delaySeconds }) => {
    await using stage = await Stage.open(wired(wire));
    const world = new ManualTime();
    const call = stage.client({ world }).health();
    const ended = error === null ? call : thrown(call, classOf(error));
    for (const delay of delaySeconds) await world.pass(delay * 1000);
    const found = await ended;
    if (error === null) expect(found).toEqual({});
    else {
      expect(found.constructor).toBe(classOf(error));
      if (status !== null) expect(found).toMatchObject({ status, code });
      if (status !== null && code === null) expect(found).toMatchObject({ problem: null, retryable: null });
    }
    expect(stage.seen).toHaveLength(delaySeconds.length + 1);
  });

  test('which names every case once', () => {
    expect(new Set(table.cases.map(({ name }) => name)).size).toBe(table.cases.length);
  });
});
