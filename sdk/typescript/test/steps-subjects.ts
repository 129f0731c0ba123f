import { RunFailure, StepFailed, type Steps, type StepWork, Stop } from '../src/worker/index.ts';
import { type Raised, RunStage, type StageOptions } from './steps-stage.ts';

/** Handlers of each kind, and the crash of a worker at each of their calls. */

const minute = 60_000;

interface Subject {
  readonly title: string;
  readonly run: (steps: Steps, effect: (its: Keyed) => void, stage: RunStage) => unknown;
  readonly options?: StageOptions;
  /** Values of the clock or of chance may be drawn again where they were not yet kept. */
  readonly draws?: boolean;
  /** How many steps work side by side; one if absent. */
  readonly atOnce?: number;
}

type Keyed = Pick<StepWork, 'idempotencyKey'>;

const approval: readonly Raised[] = [{ at: 5 * minute, name: 'approval', payload: { by: 'kim' } }];

const charge = (steps: Steps, effect: (its: Keyed) => void) =>
  steps.step('charge', (its) => {
    effect(its);
    return { id: 'ch_1' };
  });

const failed = async (work: Promise<unknown>) => {
  const error = await work.catch((reason: unknown) => reason);
  return error instanceof StepFailed ? error.cause : error;
};

const single: readonly Subject[] = [
  {
    title: 'charge, approval, an hour of sleep',
    options: { events: approval },
    async run(steps, effect) {
      const { id } = await charge(steps, effect);
      const its = (await steps.waitForEvent('approval', { timeout: '7d' })) as { readonly by: string } | null;
      await steps.sleep('cool-off', '1h');
      return { id, by: its?.by ?? null };
    },
  },
  {
    title: 'a loop with repeated names',
    async run(steps, effect) {
      const values: number[] = [];
      for (let n = 0; n < 4; n += 1) values.push(await steps.step('mail', (its) => (effect(its), n)));
      return values;
    },
  },
  {
    title: 'a step that fails twice, with pauses and timers',
    // Two tries pass under one lease.
    atOnce: 2,
    run: (steps, effect, { clock }) =>
      steps.step(
        'flaky',
        async (its) => {
          await clock.pause(10);
          effect({ idempotencyKey: `${its.idempotencyKey} try ${its.attempt}` });
          if (its.attempt < 3) throw new Error('502');
          return 3;
        },
        { retry: { delay: '3s', factor: 4 } },
      ),
  },
  {
    title: 'an event that does not come',
    options: { events: [{ at: 90 * minute, name: 'approval', payload: 'too late' }] },
    async run(steps, effect) {
      const first = await steps.waitForEvent('approval', { timeout: '1h' });
      await charge(steps, effect);
      return [first, await steps.waitForEvent('approval', { timeout: '1h' })];
    },
  },
  {
    title: 'steps that fail for good, and one that takes too long',
    async run(steps, effect, { clock }) {
      const refused = steps.step('a', () => Promise.reject(new Error('402')), { retry: { attempts: 2 } });
      const stopped = () => steps.step('b', () => Promise.reject(new Stop('no')));
      const late = () => steps.step('c', () => clock.pause(5_000), { timeout: '1s', retry: { attempts: 1 } });
      const causes = [await failed(refused), await failed(stopped()), await failed(late())];
      await charge(steps, effect);
      await steps.sleep('rest', '1m');
      return causes;
    },
  },
  {
    title: 'child runs: one that succeeds, one that fails, one that is only started',
    options: {
      children: {
        ship: { outcome: { status: 'succeeded', result: { label: 'L-7' } }, afterMs: 20 * minute },
        print: { outcome: { status: 'failed', failureClass: 'validation', error: 'no paper' } },
      },
    },
    async run(steps, effect) {
      await charge(steps, effect);
      const shipped = await steps.invoke('ship', { id: 'ship' }, { order: '7' });
      const printed = await steps
        .invoke('print', { id: 'print' }, null)
        .catch((error: Error) => error.message);
      return [shipped, printed, await steps.start('note', { id: 'note' }, shipped)];
    },
  },
  {
    title: 'commits, of one name and of another',
    async run(steps, effect) {
      const commit = async (name: string) => (await steps.commit(name, 'acme', { mutations: [] })) as object;
      const first = await commit('book');
      await charge(steps, effect);
      await steps.sleep('rest', '1m');
      const keys = [first, await commit('book'), await commit('bill')];
      return keys.map((its) => (its as { readonly of: string }).of);
    },
  },
  {
    title: 'values of the clock and of chance, and a change',
    draws: true,
    async run(steps, effect) {
      const isNew = await steps.since('2026-12-risk');
      const first = [await steps.now(), await steps.uuid(), await steps.random()];
      if (isNew) await charge(steps, effect);
      await steps.sleep('rest', '1m');
      return [isNew, ...first, await steps.now(), await steps.since('2027-01-risk')];
    },
  },
  {
    title: 'an event and a value of many bytes',
    options: { events: [{ at: minute, name: 'file', payload: 'x'.repeat(70_000) }] },
    async run(steps, effect) {
      const text = (await steps.waitForEvent('file')) as string;
      await charge(steps, effect);
      const twice = await steps.step('twice', () => text + text);
      await steps.sleep('rest', '1m');
      return [text.length, twice.length];
    },
  },
  {
    title: 'more results than a segment holds, one after the other and at once',
    atOnce: 7,
    async run(steps, effect) {
      const work = (name: string) => (n: number) =>
        steps.step([name, n], (its) => (effect(its), `${n}`.padEnd(12_000, 'x')));
      const items = [1, 2, 3, 4, 5, 6, 7];
      const lengths: number[] = [];
      for (const n of items) lengths.push((await work('one')(n)).length);
      await steps.sleep('rest', '1m');
      const more = await steps.map(items, {}, work('many'));
      await steps.sleep('rest', '1m');
      return [...lengths, ...more.map((text) => text.slice(0, 2))];
    },
  },
];

const undoing: readonly Subject[] = [
  {
    title: 'a saga that stops',
    async run(steps, effect) {
      for (const name of ['flight', 'hotel'])
        await steps.step(name, effect, { undo: (_, its) => effect(its) });
      throw new Stop('no car');
    },
  },
  {
    title: 'a saga that stops with a class of its own',
    async run(steps, effect) {
      await steps.step('flight', effect, { undo: (_, its) => effect(its) });
      throw new Stop('no car', { failureClass: 'no_car' });
    },
  },
  {
    title: 'an undo that is tried again after a timer',
    async run(steps, effect) {
      const undo = (_: unknown, its: StepWork) => {
        if (its.attempt < 2) throw new Error('502');
        effect(its);
      };
      await steps.step('flight', () => 'F1', { undo, retry: { delay: '1m' } });
      await steps.sleep('rest', '1m');
      throw new Stop('no car');
    },
  },
  {
    title: 'an undo on the last failure',
    options: { retries: true, maxAttempts: 3 },
    async run(steps, effect) {
      await steps.step('flight', effect, { undo: (_, its) => effect(its) });
      await steps.sleep('rest', '1m');
      await steps.step('hotel', effect, { undo: (_, its) => effect(its) });
      throw new RunFailure('no_car', 'no car');
    },
  },
];

const parallel: readonly Subject[] = [
  {
    title: 'parallel steps and two waits',
    atOnce: 2,
    options: { events: approval },
    draws: true,
    run: (steps, effect, { clock }) =>
      steps.all([
        async () => {
          await charge(steps, effect);
          return steps.waitForEvent('approval');
        },
        async () => {
          await steps.sleep('short', '1m');
          await steps.step('after', async (its) => {
            await clock.pause(20);
            effect(its);
          });
          return steps.now();
        },
        () => steps.uuid(),
      ]),
  },
  {
    title: 'a map of two branches at a time, and a race',
    atOnce: 2,
    async run(steps, effect, { clock }) {
      const works = (n: number) => steps.step(['s', n], (its) => (effect(its), n));
      const values = await steps.map([1, 2, 3], { concurrency: 2 }, works);
      const first = await steps.race([
        () => steps.sleep('long', '1h'),
        () => clock.pause(5).then(() => 'quick'),
      ]);
      return [values, first ?? null];
    },
  },
  {
    title: 'a race of an event and a timer, with a step after each',
    options: { events: [{ at: minute, name: 'paid', payload: 7 }] },
    async run(steps, effect) {
      const first = await steps.race([
        async () => [await steps.waitForEvent('paid'), await charge(steps, effect)],
        async () => {
          await steps.sleep('patience', '1h');
          return steps.step('remind', effect);
        },
      ]);
      await steps.sleep('rest', '2h');
      return first;
    },
  },
  {
    title: 'events of several names in one wait',
    atOnce: 2,
    options: {
      eventsMax: 8,
      events: [
        { at: minute, name: 'b', payload: 'b1' },
        { at: 2 * minute, name: 'a', payload: 'a1' },
        { at: 3 * minute, name: 'b', payload: 'b2' },
      ],
    },
    async run(steps, effect, { clock }) {
      const taken = async (name: string) => {
        const first = await steps.waitForEvent([name, 'first'], { event: name });
        await steps.step([name, 'note'], async (its) => {
          await clock.pause(30);
          effect(its);
        });
        return [first, await steps.waitForEvent([name, 'next'], { event: name, timeout: '1h' })];
      };
      return steps.all([() => taken('a'), () => taken('b'), () => steps.sleep('rest', '90s')]);
    },
  },
];

export const subjects: readonly Subject[] = [...single, ...undoing, ...parallel];

interface Outcome {
  readonly result: unknown;
  readonly error: string | undefined;
  readonly effects: ReadonlyMap<string, number>;
  readonly calls: number;
  readonly faults: readonly string[];
}

async function outcomeOf({ run, options }: Subject, crash?: StageOptions['crash']): Promise<Outcome> {
  const stage = new RunStage({ ...options, ...(crash === undefined ? {} : { crash }) });
  const effects = new Map<string, number>();
  const effect = ({ idempotencyKey: key }: Keyed) => void effects.set(key, (effects.get(key) ?? 0) + 1);
  const { result, error } = await stage.drive({ id: 'h', run: (steps: Steps) => run(steps, effect, stage) });
  const { calls, faults, receipts, started } = stage;
  const others = [...receipts.keys(), ...started.keys()].map((key) => [key, 1] as const);
  return {
    result: result ?? null,
    error: error instanceof RunFailure ? `${error.failureClass}: ${error.message}` : error?.message,
    effects: new Map([...effects, ...others]),
    calls: calls.length,
    faults,
  };
}

/** The first difference that a crash makes; `null` without one. */
export async function crashFault(subject: Subject): Promise<string | null> {
  const whole = await outcomeOf(subject);
  const repeated = [...whole.effects].find(([, count]) => count > 1);
  if (repeated !== undefined) return `without a crash ${repeated[0]} takes effect ${repeated[1]} times`;
  for (const when of ['before', 'after'] as const)
    for (let call = 1; call <= whole.calls; call += 1) {
      const fault = await outcomeOf(subject, { call, when }).then(
        (crashed) => difference(subject, whole, crashed),
        String,
      );
      if (fault !== null) return `${when} call ${call}: ${fault}`;
    }
  return null;
}

function difference({ draws = false, atOnce = 1 }: Subject, whole: Outcome, crashed: Outcome): string | null {
  const text = ({ result, error }: Outcome) =>
    JSON.stringify([draws ? withoutDrawn(result) : result, error ?? null]);
  if (crashed.faults.length > 0) return crashed.faults.join(', ');
  if (text(crashed) !== text(whole)) return `${text(crashed)} instead of ${text(whole)}`;
  const keys = ({ effects }: Outcome) => [...effects.keys()].toSorted().join(' ');
  if (keys(crashed) !== keys(whole)) return `effects ${keys(crashed)} instead of ${keys(whole)}`;
  // Steps that were at work during the crash work again, with their keys.
  const again = [...crashed.effects].filter(([, count]) => count > 1);
  const isFew = again.length <= atOnce && again.every(([, count]) => count === 2);
  return isFew ? null : `effects again: ${again.map((each) => each.join(' ')).join(', ')}`;
}

function withoutDrawn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDrawn);
  return typeof value === 'object' || typeof value === 'boolean' ? value : typeof value;
}

/** Names that a service might read as something else. */
export const strangeNames = [
  'a/b',
  '/',
  '..',
  '../svc.steps.0',
  'it\'s "quoted"',
  'back\\slash',
  '%2F?a=b&c#d',
  'a#b',
  'a~1b',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'steps.0',
  '\u{1f680} to the moon',
  '\u05e9\u05dc\u05d5\u05dd',
  'e\u0301',
  'a\u2028b',
  '\u{1f680}'.repeat(64),
  'x'.repeat(128),
];
