import { hash } from 'node:crypto';
import { grpcCodes } from './refusal.ts';

/** The probability of a fault. The same seed decides the same for the same attempt, independently of all else. */
interface Chance {
  /** From 0 to 1. */
  readonly probability: number;
  readonly seed: number;
}

/** The faults to inject; an absent switch injects none. */
export interface FaultSwitches {
  /** A due task ends without having been sent. */
  readonly lose?: Chance;
  /** A request is sent twice at the same time; the answer of the first counts. */
  readonly duplicate?: Chance;
  /** A task is due up to `ms` later than scheduled. */
  readonly delay?: Chance & { readonly ms: number };
  /** Another due task is sent before the first one. */
  readonly reorder?: Chance;
  /** Nothing is sent, and the attempt ends as if the target had answered with `status`. */
  readonly fail?: Chance & { readonly status: number };
  /** An API call ends with this gRPC code; with `carriedOut` only after it has taken effect. */
  readonly refuse?: Chance & {
    readonly code: number;
    readonly carriedOut: boolean;
    /** The affected calls, such as `CreateTask`; absent: all. */
    readonly methods?: readonly string[];
  };
}

export type FaultName = keyof FaultSwitches;

const faultNames: readonly FaultName[] = ['lose', 'duplicate', 'delay', 'reorder', 'fail', 'refuse'];

/** Parses switches from JSON; for invalid ones returns a sentence that names the fault. */
export function readFaults(value: unknown): FaultSwitches | string {
  if (!isObject(value)) return 'The switches must be an object.';
  for (const [name, given] of Object.entries(value)) {
    if (!(faultNames as readonly string[]).includes(name))
      return `There is no switch ${JSON.stringify(name)}; there are ${faultNames.join(', ')}.`;
    const wrong = faultIn(name as FaultName, given);
    if (wrong !== undefined) return `${name}: ${wrong}`;
  }
  return value;
}

type Check = readonly [ok: (value: unknown) => boolean, expected: string];
const chance: Readonly<Record<string, Check>> = {
  probability: [(value) => isNumber(value) && value >= 0 && value <= 1, 'a number from 0 to 1'],
  seed: [(value) => Number.isSafeInteger(value), 'a whole number'],
};
const members: Readonly<Record<FaultName, Readonly<Record<string, Check>>>> = {
  lose: chance,
  duplicate: chance,
  reorder: chance,
  delay: { ...chance, ms: [(value) => isWhole(value, 1, 86_400_000), 'a whole number from 1 to 86400000'] },
  fail: { ...chance, status: [(value) => isWhole(value, 300, 599), 'a status from 300 to 599'] },
  refuse: {
    ...chance,
    code: [(value) => isWhole(value, 1, grpcCodes.unauthenticated), 'a code of gRPC from 1 to 16'],
    carriedOut: [(value) => typeof value === 'boolean', 'true or false'],
    methods: [
      (value) =>
        value === undefined ||
        (Array.isArray(value) && value.every((method) => typeof method === 'string' && method !== '')),
      'a list of names of calls',
    ],
  },
};

function faultIn(name: FaultName, given: unknown): string | undefined {
  if (!isObject(given)) return 'must be an object.';
  const known = members[name];
  const unknown = Object.keys(given).find((member) => !Object.hasOwn(known, member));
  if (unknown !== undefined) return `has no member ${JSON.stringify(unknown)}.`;
  for (const [member, [ok, expected]] of Object.entries(known))
    if (!ok(given[member])) return `${member} must be ${expected}.`;
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return isNumber(value) && Number.isInteger(value) && value >= min && value <= max;
}

/** The current switches and the number of times each has struck. */
export class Faults {
  #switches: FaultSwitches;
  readonly #struck = new Map<FaultName, number>();

  constructor(switches: FaultSwitches = {}) {
    this.#switches = switches;
  }

  get switches(): FaultSwitches {
    return this.#switches;
  }

  get struck(): Readonly<Record<string, number>> {
    return Object.fromEntries(faultNames.map((name) => [name, this.#struck.get(name) ?? 0]));
  }

  set(switches: FaultSwitches): void {
    this.#switches = switches;
    this.#struck.clear();
  }

  /** The switch and its settings if it strikes the subject, else `null`. */
  strike<Name extends FaultName>(name: Name, subject: string): NonNullable<FaultSwitches[Name]> | null {
    const chosen = this.#switches[name];
    if (chosen === undefined || draw(chosen.seed, name, subject) >= chosen.probability) return null;
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + 1);
    return chosen;
  }

  /** A number from 0 up to, not including, 1 for a switch that strikes the subject. */
  amount(name: FaultName, subject: string): number {
    return draw(this.#switches[name]?.seed ?? 0, `${name} amount`, subject);
  }
}

function draw(seed: number, purpose: string, subject: string): number {
  return Number.parseInt(hash('sha256', `${seed}\n${purpose}\n${subject}`).slice(0, 12), 16) / 2 ** 48;
}
