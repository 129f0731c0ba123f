import type {
  CanonicalDocumentRevisionList,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import type { Instance, Request } from '../histories/instance.ts';
import type { Operation, Outcome } from '../simulation/canonical-calls.ts';
import { START } from '../support/canonical.ts';
import type { Chronicle, Pair } from './chronicle.ts';
import { ITEM, SLOTS } from './eras.ts';
import {
  commitOf,
  LEFT,
  readMarkers,
  readView,
  type Seen,
  type SlotChange,
  VIEWS,
} from './traffic-requests.ts';

export interface TrafficOptions {
  readonly tenantId: string;
  readonly writers: number;
  readonly readers: number;
  /** Whether a query may meet a commit half-way. */
  readonly tears?: boolean;
}

/** How often a commit that lost every race is sent again. */
const TRIES_MAX = 100;

/** Writers and readers that work until the test stops them, through any of several instances. */
export class Traffic {
  readonly chronicle: Chronicle;
  readonly #instances: readonly Instance[];
  readonly #options: TrafficOptions;
  #stopped = false;
  #gate: Promise<void> = Promise.resolve();
  readonly #sending = new Set<Promise<unknown>>();
  #running: Promise<unknown> = Promise.resolve();
  #waiting: { readonly commits: number; readonly resolve: () => void }[] = [];
  #commits = 0;
  /** Refusals for a slot that another holds, or that a restore took away. */
  refused = 0;

  constructor(instances: readonly Instance[], chronicle: Chronicle, options: TrafficOptions) {
    this.#instances = instances;
    this.chronicle = chronicle;
    this.#options = options;
  }

  start(): void {
    const { writers, readers } = this.#options;
    const each = (count: number, client: (n: number) => Promise<void>) =>
      Array.from({ length: count }, (_, n) => client(n));
    this.#running = Promise.all([
      ...each(writers, (n) => this.#write(n)),
      ...each(readers, (n) => this.#read(n)),
    ]).finally(() => {
      this.#stopped = true;
    });
    // A failure rejects the test that waits for the traffic; until then no promise may be unhandled.
    this.#running.catch(() => undefined);
  }

  /** Settles once `count` more commits were acknowledged. */
  async commits(count: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#waiting.push({ commits: this.#commits + count, resolve });
      this.#notify();
    });
    await Promise.race([reached, this.#running]);
  }

  /** Does `work` while no commit is under way. */
  async inSilence<R>(work: () => Promise<R>): Promise<R> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    try {
      await Promise.all(this.#sending);
      return await work();
    } finally {
      resolve();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  #notify(): void {
    for (const { commits, resolve } of this.#waiting) if (commits <= this.#commits) resolve();
    this.#waiting = this.#waiting.filter(({ commits }) => commits > this.#commits);
  }

  async #write(writer: number): Promise<void> {
    let held: string | null = null;
    for (let n = 1; !this.#stopped; n++) {
      const slot: string = held ?? `${(writer + n) % SLOTS}`;
      const change: SlotChange | null =
        n % 3 === 0 ? { slot, action: held === null ? 'claim' : 'release' } : null;
      const done = await this.#commit(writer, n, change);
      if (change === null) continue;
      // A refused claim is skipped, and a slot that a restore removed is not released.
      held = done && change.action === 'claim' ? slot : null;
      if (!done) await this.#commit(writer, n, null);
    }
  }

  /** Whether it was done; it was not, if the slot is another's. */
  async #commit(writer: number, n: number, change: SlotChange | null): Promise<boolean> {
    const { tenantId } = this.#options;
    const body = commitOf(tenantId, writer, n, change);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      await this.#gate;
      const called = this.chronicle.send(writer, n);
      const asked = this.#ask(writer, 'commitCanonicalTransaction', body);
      this.#sending.add(asked);
      const outcome = await asked.finally(() => this.#sending.delete(asked));
      if (outcome.kind === 'answer') {
        this.#acknowledged(writer, called, outcome.body);
        return true;
      }
      if (outcome.kind === 'refused') {
        if (!outcome.error.code.startsWith('fence_')) throw outcome.error;
        this.refused += 1;
        return false;
      }
      // Their instances live, so every call gets an answer.
      if (outcome.kind === 'unknown') throw new Error('the answer to a commit was lost');
    }
    throw new Error(`a commit lost ${TRIES_MAX} races`);
  }

  #acknowledged(writer: number, called: number, { documents }: CanonicalTransactionResult): void {
    const [left, right] = documents;
    const n = Number(left?.data?.['n']);
    const what = `commit ${n} of writer ${writer}`;
    if (left === undefined || left.revision !== right?.revision) {
      this.chronicle.faults.push(`${what}: revisions ${left?.revision} and ${right?.revision}`);
      return;
    }
    const pairs = new Map([[writer, { n, revision: left.revision }]]);
    const returned = this.chronicle.tick();
    this.chronicle.sightings.push({
      what,
      called,
      returned,
      era: null,
      pairs,
      whole: false,
      acknowledges: writer,
    });
    this.#commits += 1;
    this.#notify();
  }

  async #read(reader: number): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) {
      const view = VIEWS[turn % (VIEWS.length + 2)];
      if (view !== undefined) {
        await this.#look(reader, `view ${turn % VIEWS.length}`, 'queryCanonicalDocuments', view, (body) =>
          readView(body.items, this.#options.tears),
        );
      } else if (turn % (VIEWS.length + 2) === VIEWS.length) await this.#lookForMarkers(reader);
      else await this.#lookAtRevision(reader, turn);
    }
  }

  /** The last ones that began before it: one of them is visible. */
  async #lookForMarkers(reader: number): Promise<void> {
    for (const { era } of this.chronicle.attempts.slice(-2)) {
      const body = { indexes: { era: `${era}` }, limit: 1_000 };
      await this.#look(reader, `markers of ${era}`, 'queryCanonicalDocuments', body, ({ items }) =>
        readMarkers(era, items),
      );
    }
  }

  async #lookAtRevision(reader: number, turn: number): Promise<void> {
    const writer = (reader + turn) % this.#options.writers;
    const body = { documentType: ITEM, id: LEFT(writer), limit: 3 };
    await this.#look(reader, 'revision', 'queryCanonicalDocumentRevisions', body, (list) =>
      readRevisions(writer, list),
    );
  }

  async #look<Id extends Operation>(
    reader: number,
    name: string,
    operation: Id,
    body: Request<Id>['body'],
    read: (body: Extract<Outcome<Id>, { kind: 'answer' }>['body']) => Seen,
  ): Promise<void> {
    const called = this.chronicle.tick();
    const outcome = await this.#ask(reader, operation, body);
    // A reader may get a retryable refusal, never a permanent one.
    if (outcome.kind === 'refused' && outcome.error.code !== 'not_found') throw outcome.error;
    if (outcome.kind !== 'answer') return;
    const { faults, ...seen } = read(outcome.body);
    const what = `${name} of reader ${reader} at ${called}`;
    this.chronicle.faults.push(...faults.map((fault) => `${what}: ${fault}`));
    this.chronicle.sightings.push({ what, called, returned: this.chronicle.tick(), ...seen });
  }

  async #ask<Id extends Operation>(
    client: number,
    operation: Id,
    body: Request<Id>['body'],
  ): Promise<Outcome<Id>> {
    const instance = this.#instances[client % this.#instances.length];
    if (instance === undefined) throw new Error('there is no instance');
    const params = { tenantId: this.#options.tenantId } as Request<Id>['params'];
    return instance.call({ operation, params, body, now: START + this.chronicle.tick() });
  }
}

/** The newest revisions of a pair: of one line, whose numbers and commits go down one by one. */
function readRevisions(writer: number, list: CanonicalDocumentRevisionList): Seen {
  const pairs = list.map(({ document, revision }): Pair => ({ n: Number(document.data?.['n']), revision }));
  const [first] = pairs;
  const faults = pairs.some(
    ({ n, revision }, at) => first !== undefined && (n !== first.n - at || revision !== first.revision - at),
  )
    ? [`writer ${writer}: revisions ${JSON.stringify(pairs)}`]
    : [];
  return { era: null, pairs: new Map(first === undefined ? [] : [[writer, first]]), whole: false, faults };
}
