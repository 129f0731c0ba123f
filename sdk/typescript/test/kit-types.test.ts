import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  createWorker,
  defineHandler,
  type RunClient,
  type StandardSchema,
  start,
} from '../src/worker/index.ts';
import { RunStage } from './steps-stage.ts';

/** Programs that a wrong type must keep from compiling are not executed. */
function notExecuted(program: () => unknown): void {
  expect(program).toBeTypeOf('function');
}

function schemaOf<T>(isGood: (value: unknown) => boolean = () => true): StandardSchema<T, T> {
  const validate = (value: unknown) =>
    isGood(value) ? { value: value as T } : { issues: [{ message: 'is no such thing', path: ['by'] }] };
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

interface Approval {
  readonly by: string;
}

const Approved = schemaOf<Approval>((value) => typeof (value as Partial<Approval> | null)?.by === 'string');
const ship = defineHandler({
  id: 'ship',
  input: schemaOf<{ readonly order: string }>(),
  run: (_, { order }) => ({ label: order }),
});
const refund = defineHandler({
  id: 'refund',
  version: '2',
  input: schemaOf<{ readonly order: string }>(),
  events: { approval: Approved, note: schemaOf<string>() },
  run: async ({ waitForEvent, invoke, step }, input) => {
    expectTypeOf(input).toEqualTypeOf<{ readonly order: string }>();
    const approval = await waitForEvent('approval', { timeout: '7d' });
    expectTypeOf(approval).toEqualTypeOf<Approval | null>();
    expectTypeOf(await waitForEvent('note')).toEqualTypeOf<string>();
    notExecuted(async () => {
      // @ts-expect-error The child takes another input.
      await invoke('ship', ship, { order: 7 });
      // @ts-expect-error The option takes a boolean.
      await invoke('ship', ship, input, { cancelWithParent: 'yes' });
      // @ts-expect-error JSON has no dates.
      await step('at', () => new Date(0));
      // @ts-expect-error The payload has no such member.
      void approval?.from;
    });
    return approval?.by ?? null;
  },
});
const declare = <T>() => undefined as T;

describe('the types of a handler that names its events', () => {
  test('refuse another payload, event or input', () => {
    notExecuted(async () => {
      const run = await start(declare<RunClient>(), refund, { order: '7' });
      await run.raise('approval', { by: 'kim' });
      // @ts-expect-error The payload of the event has another type.
      await run.raise('approval', { by: 7 });
      // @ts-expect-error The event has a payload.
      await run.raise('approval');
      // @ts-expect-error The handler waits for no such event.
      await run.raise('approved', { by: 'kim' });
      // @ts-expect-error The input needs an order.
      await start(declare<RunClient>(), refund, {});
      expectTypeOf(await run.result()).toEqualTypeOf<string | null>();
    });
    expect(refund.id).toBe('refund');
  });

  test('leave the events of other handlers open', () => {
    notExecuted(async () => {
      const run = await start(declare<RunClient>(), ship, { order: '7' });
      await run.raise('anything', 7);
      await run.raise('anything');
    });
    expect(ship.version).toBe('1');
  });

  test('take handlers as a list, and a map of them', () => {
    const client = { baseUrl: 'http://127.0.0.1:1', apiKey: null, token: null };
    expect(createWorker({ client, workerId: 'w', handlers: [refund, ship] }).workerId).toBe('w');
    expect(createWorker({ client, workerId: 'w', handlers: { refund, own: () => 1 } }).workerId).toBe('w');
    notExecuted(() => {
      // @ts-expect-error A list needs handlers with ids.
      createWorker({ client, workerId: 'w', handlers: [() => 1] });
    });
  });
});

test('a payload of an event that the handler has named otherwise ends the run, with its place', async () => {
  const stage = new RunStage({ events: [{ at: 5, name: 'approval', payload: { by: 7 } }] });
  const ended = await stage.drive({
    id: 'refund',
    events: { approval: Approved },
    run: ({ waitForEvent }: { readonly waitForEvent: (name: string) => Promise<unknown> }) =>
      waitForEvent('approval'),
  });
  expect(ended.error).toMatchObject({
    name: 'Stop',
    failureClass: 'validation',
    message: 'The payload of "approval" does not fit its schema, at "/by": is no such thing',
  });
});
