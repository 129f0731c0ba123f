import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { mayHaveSlot, type SlotState } from './slot-share.ts';

type Rule = typeof mayHaveSlot;

const OWNERS = ['a', 'b', 'c', 'd'] as const;
type Owner = (typeof OWNERS)[number];

/** Slots, and runs that wait for one, as lists: the plainest model of a process. */
class Process {
  readonly slotsMax: number;
  readonly running: Owner[] = [];
  readonly waiting: Owner[] = [];
  readonly #rule: Rule;

  constructor(slotsMax: number, rule: Rule) {
    this.slotsMax = slotsMax;
    this.#rule = rule;
  }

  state(owner: Owner): SlotState {
    return {
      slotsMax: this.slotsMax,
      free: this.slotsMax - this.running.length,
      held: this.running.filter((each) => each === owner).length,
      othersWait: () => this.waiting.some((each) => each !== owner),
    };
  }

  /** Gives slots to the waiting runs, the oldest first, as long as one may have a slot. */
  fill(): void {
    for (;;) {
      const at = this.waiting.findIndex((owner) => this.#rule(this.state(owner)));
      const owner = this.waiting[at];
      if (owner === undefined) return;
      const { held, othersWait } = this.state(owner);
      if (held >= this.slotsMax / 2 && othersWait()) throw new Error(`${owner} has more than half`);
      this.waiting.splice(at, 1);
      this.running.push(owner);
    }
  }

  check(): void {
    const free = this.slotsMax - this.running.length;
    if (free < 0) throw new Error('more runs than slots');
    const holders = new Set(this.running);
    if (this.slotsMax > 1 && free === 0 && holders.size === 1) throw new Error('one owner has every slot');
    if (free > 0 && this.waiting.some((owner) => !holders.has(owner)))
      throw new Error('an owner without a slot waits, although one is free');
    if (free > 1 && this.waiting.length > 0) throw new Error('two slots are idle, although runs wait');
  }
}

const step = record({
  asks: array(constantFrom(...OWNERS), { maxLength: 5 }),
  ends: array(integer({ min: 0, max: 9 }), { maxLength: 5 }),
});

function keepsPromises(rule: Rule): void {
  assert(
    property(integer({ min: 1, max: 9 }), array(step, { maxLength: 60 }), (slotsMax, steps) => {
      const owners = new Process(slotsMax, rule);
      for (const { asks, ends } of steps) {
        owners.waiting.push(...asks);
        for (const at of ends)
          if (owners.running.length > 0) owners.running.splice(at % owners.running.length, 1);
        owners.fill();
        owners.check();
      }
    }),
    { numRuns: 2_000, seed: 7 },
  );
}

test('an owner without a slot gets a free one, and no owner holds all of several slots', () => {
  keepsPromises(mayHaveSlot);
});

const planted: Readonly<Record<string, Rule>> = {
  'no share': ({ free }) => free > 0,
  'the last slot is for every owner': (slots) => mayHaveSlot(slots) || slots.free === 1,
  'more than half at any time': ({ free, held }) => free > 1 || (free > 0 && held === 0),
  'half at any time': (slots) => mayHaveSlot(slots) && slots.held < Math.ceil(slots.slotsMax / 2),
  'more slots than there are': (slots) => slots.held === 0 || mayHaveSlot(slots),
  'an owner without a slot is refused the last one': (slots) => slots.free > 1 && mayHaveSlot(slots),
};

test.each(Object.keys(planted))('a planted bug is found: %s', (name) => {
  const rule = planted[name];
  expect(rule).toBeDefined();
  expect(() => keepsPromises(rule ?? mayHaveSlot)).toThrow();
});

test.each([
  [1, 1, 0, true],
  [2, 2, 0, true],
  [2, 1, 1, false],
  [4, 2, 2, true],
  [4, 1, 3, false],
  [64, 2, 62, true],
])(
  'of %i slots with %i free, an owner that holds %i may have one while no other owner waits: %s',
  (slotsMax, free, held, may) => {
    expect(mayHaveSlot({ slotsMax, free, held, othersWait: () => false })).toBe(may);
  },
);
