import { compose } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { Settings } from '../../functions/config/table.ts';
import { isDamage } from '../../functions/store/damage.ts';
import type { BodyPage, HashedBodies } from '../../functions/store/hashed-bodies.ts';
import { ProgressLine } from '../progress.ts';
import { type Check, failed, messageOf, ok } from './check.ts';

/** So many damaged bodies are named; the rest are counted. */
const NAMED_MAX = 1_000;
const ID = 'stored-bodies';

/** Reads every stored body that has a hash. One check for each that is not what was written. */
export async function bodyChecks(settings: Settings, verbose: boolean): Promise<Check[]> {
  const service = compose(settings, { createStore: false, writeLog: () => undefined });
  const progress = new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose });
  const walk = new BodyWalk(progress);
  try {
    for (const bodies of await service.bodies()) await walk.all(bodies);
    return walk.checks();
  } catch (error) {
    const remedy = 'Check that the database and the files beside it can be read, and look again.';
    return [
      ...walk.found,
      failed(ID, `The stored bodies could not all be read: ${messageOf(error)}.`, remedy),
    ];
  } finally {
    progress.end();
    await service.close();
  }
}

/** Holds one page at a time. */
class BodyWalk {
  readonly found: Check[] = [];
  readonly #progress: ProgressLine;
  #damaged = 0;
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
        const size = await verify().catch((error: unknown) => this.#damage(bodies, name, error));
        this.#bytes += size;
        this.#read += 1;
        records += 1;
        this.#progress.show({ step: `reading each ${bodies.kind}`, records, recordsTotal: null });
        if (turns.due()) await turns.next();
      }
      if (page.next === null) return;
      after = page.next;
    }
  }

  checks(): Check[] {
    const read = `${this.#read} stored bodies of ${this.#bytes} bytes`;
    if (this.#damaged === 0) return [ok(ID, `${read} are what was written.`)];
    const rest = this.#damaged - this.found.length;
    const message = `Of ${read}, ${this.#damaged} are damaged${rest > 0 ? `; ${rest} are not named` : ''}.`;
    const remedy = 'Look at the disk and the memory of the machine too: svc backup-verify checks a copy.';
    return [...this.found, failed(ID, message, remedy)];
  }

  #damage({ kind, remedy }: HashedBodies, name: string, error: unknown): number {
    if (!isDamage(error)) throw error;
    this.#damaged += 1;
    if (this.found.length < NAMED_MAX)
      this.found.push(failed(ID, `${kind} ${name}: ${messageOf(error)}.`, remedy));
    return 0;
  }
}
