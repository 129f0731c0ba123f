import { compose } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { Settings } from '../../functions/config/table.ts';
import { isDamage } from '../../functions/store/damage.ts';
import type { BodyPage, HashedBodies } from '../../functions/store/hashed-bodies.ts';
import { ProgressLine } from '../progress.ts';
import { type Check, failed, messageOf, ok } from './check.ts';
import { unlessDatabaseWritten } from './written.ts';

/** The number of damaged bodies that are named; the rest are counted. */
const NAMED_MAX = 1_000;
/** After this number of unreadable bodies in a row their store is unavailable, so the rest is not tried. */
const UNREADABLE_MAX = 20;
const ID = 'stored-bodies';
const READABLE = 'Check that the database and the files beside it can be read, and look again.';

/** Reads every stored body that has a hash. Each body that differs from its hash gives one check. */
export function bodyChecks(settings: Settings, verbose: boolean): Promise<Check[]> {
  return unlessDatabaseWritten(settings, async () => (await lookAtBodies(settings, verbose)).checks);
}

export interface BodiesFound {
  readonly checks: Check[];
  /** `not read` says nothing about the bytes: their place is away, or may not be read. */
  readonly verdict: 'sound' | 'damaged' | 'not read';
}

export async function lookAtBodies(settings: Settings, verbose: boolean): Promise<BodiesFound> {
  const service = compose(settings, { createStore: false, readOnly: true, writeLog: () => undefined });
  const progress = new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose });
  const walk = new BodyWalk(progress);
  try {
    for (const bodies of await service.bodies()) await walk.all(bodies);
    return { checks: walk.checks(), verdict: walk.verdict };
  } catch (error) {
    const message = `The stored bodies could not all be read: ${messageOf(error)}.`;
    const isDamaged = isDamage(error) || walk.verdict === 'damaged';
    return {
      checks: [...walk.found, failed(ID, message, READABLE)],
      verdict: isDamaged ? 'damaged' : 'not read',
    };
  } finally {
    progress.end();
    await service.close();
  }
}

/**
 * Holds one page at a time.
 * @testonly
 */
export class BodyWalk {
  readonly found: Check[] = [];
  readonly #progress: ProgressLine;
  #damaged = 0;
  #unreadable = 0;
  #unreadableInARow = 0;
  #read = 0;
  #bytes = 0;

  constructor(progress: ProgressLine) {
    this.#progress = progress;
  }

  async all(bodies: HashedBodies): Promise<void> {
    const turns = machine.turns.of(ID);
    let records = 0;
    for (let after: string | null = null; ; ) {
      const page: BodyPage = await bodies.page(after).catch((error: unknown) => {
        this.#damage(bodies, 'a list, of which the rest cannot be found', error);
        return { bodies: [], next: null };
      });
      for (const { name, verify } of page.bodies) {
        await this.#body(bodies, name, verify);
        records += 1;
        this.#progress.show({ step: `reading each ${bodies.kind}`, records, recordsTotal: null });
        if (turns.due()) await turns.next();
      }
      if (page.next === null) return;
      after = page.next;
    }
  }

  get verdict(): BodiesFound['verdict'] {
    if (this.#damaged > 0) return 'damaged';
    return this.#unreadable > 0 ? 'not read' : 'sound';
  }

  checks(): Check[] {
    const read = `${this.#read} stored bodies of ${this.#bytes} bytes`;
    const bad = this.#damaged + this.#unreadable;
    if (bad === 0) return [ok(ID, `${read} are what was written.`)];
    const rest = bad - this.found.length;
    const unreadable = this.#unreadable > 0 ? ` and ${this.#unreadable} could not be read` : '';
    const message = `Of ${read}, ${this.#damaged} are damaged${unreadable}${rest > 0 ? `; ${rest} are not named` : ''}.`;
    const remedy =
      'Look at the disk and the memory of the machine too, and keep older backups: a backup copies what is damaged.';
    return [...this.found, failed(ID, message, remedy)];
  }

  async #body(bodies: HashedBodies, name: string, verify: () => Promise<number>): Promise<void> {
    this.#read += 1;
    try {
      this.#bytes += await verify();
    } catch (error) {
      if (!isDamage(error)) {
        this.#unreadable += 1;
        this.#unreadableInARow += 1;
        this.#name(`${bodies.kind} ${name} could not be read: ${messageOf(error)}.`, READABLE);
        if (this.#unreadableInARow === UNREADABLE_MAX) throw error;
        return;
      }
      this.#damage(bodies, name, error);
    }
    this.#unreadableInARow = 0;
  }

  #damage({ kind, remedy }: HashedBodies, name: string, error: unknown): void {
    if (!isDamage(error)) throw error;
    this.#damaged += 1;
    this.#name(`${kind} ${name}: ${messageOf(error)}.`, remedy);
  }

  #name(message: string, remedy: string): void {
    if (this.found.length < NAMED_MAX) this.found.push(failed(ID, message, remedy));
  }
}
