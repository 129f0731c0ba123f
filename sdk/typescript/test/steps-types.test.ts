import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  createWorker,
  defineHandler,
  type NamedHandler,
  type RunClient,
  type StandardSchema,
  type StartedRun,
  type Steps,
  start,
} from '../src/worker/index.ts';

/** A program that a wrong type must keep from compiling. It is not executed. */
function notExecuted(program: () => unknown): void {
  expect(program).toBeTypeOf('function');
}

function schemaOf<Input, Output = Input>(): StandardSchema<Input, Output> {
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Output }) } };
}

interface Order {
  readonly order: string;
  readonly note?: string;
}

const ship = defineHandler({
  id: 'ship',
  input: schemaOf<Order>(),
  output: schemaOf<{ readonly label: string }>(),
  run: (_, input) => ({ label: input.order }),
});
const plain = defineHandler({ id: 'plain', run: async (_steps, input: Order) => input.order.length });
const declare = <T>() => undefined as T;

describe('the types of handlers with steps', () => {
  test('know input and result', () => {
    notExecuted(async () => {
      const client = declare<RunClient>();
      const run = await start(client, ship, { order: '7' });
      expectTypeOf(run).toEqualTypeOf<StartedRun<{ readonly label: string }>>();
      expectTypeOf(await (await start(client, plain, { order: '7' })).result()).toEqualTypeOf<number>();
      // @ts-expect-error The input of the handler has another type.
      await start(client, ship, { order: 7 });
      // @ts-expect-error The input of the handler needs an order.
      await start(client, plain, {});
    });
    expect(ship.id).toBe('ship');
  });

  test('know the results of children, events and branches', () => {
    notExecuted(async () => {
      const steps = declare<Steps>();
      expectTypeOf(await steps.invoke('ship', ship, { order: '7' })).toEqualTypeOf<{
        readonly label: string;
      }>();
      // @ts-expect-error The child takes another input.
      await steps.invoke('ship', ship, { orders: '7' });
      const Approval = schemaOf<{ readonly by: string }>();
      const approval = await steps.waitForEvent('approval', { timeout: '7d', schema: Approval });
      expectTypeOf(approval).toEqualTypeOf<{ readonly by: string } | null>();
      // @ts-expect-error The payload has no such member.
      void approval?.from;
      // @ts-expect-error After the timeout there is no payload.
      void approval.by;
      expectTypeOf((await steps.waitForEvent('approval', { schema: Approval })).by).toEqualTypeOf<string>();
      const [one, two] = await steps.all([
        () => steps.step('a', () => 1),
        () => steps.step('b', async () => 'b'),
      ]);
      expectTypeOf(one).toEqualTypeOf<number>();
      expectTypeOf(two).toEqualTypeOf<string>();
      const first = await steps.race([() => 1, async () => 'b']);
      expectTypeOf(first).toEqualTypeOf<string | number>();
      expectTypeOf(await steps.map([1], {}, async (n) => String(n))).toEqualTypeOf<string[]>();
    });
    expect(plain.version).toBe('1');
  });

  test('refuse results that JSON would change', () => {
    notExecuted(async () => {
      const steps = declare<Steps>();
      expectTypeOf(await steps.step('a', async () => ({ at: 1, of: [null] as null[] }))).toEqualTypeOf<{
        at: number;
        of: null[];
      }>();
      expectTypeOf(await steps.step('a', (): Order => ({ order: '7' }))).toEqualTypeOf<Order>();
      await steps.step('a', () => undefined);
      // @ts-expect-error JSON has no dates.
      await steps.step('a', () => new Date(0));
      // @ts-expect-error JSON has no dates.
      await steps.step('a', async () => ({ at: new Date(0) }));
      // @ts-expect-error JSON has no maps.
      await steps.step('a', () => new Map<string, string>());
      // @ts-expect-error JSON has no big integers.
      await steps.step('a', () => [1n]);
      const codec = {
        encode: (date: Date) => date.toISOString(),
        decode: (json: unknown) => new Date(String(json)),
      };
      expectTypeOf(await steps.step('a', () => new Date(0), { codec })).toEqualTypeOf<Date>();
    });
  });

  test('let a worker take them as a list', () => {
    const client = { baseUrl: 'http://127.0.0.1:1', apiKey: null, token: null };
    const worker = (handlers: readonly NamedHandler[]) => createWorker({ client, workerId: 'w', handlers });
    expect(worker([ship, plain]).workerId).toBe('w');
    expect(() => worker([ship, ship])).toThrow('names an id twice');
  });
});
