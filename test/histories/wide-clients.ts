import type { CanonicalDocument, CanonicalMutation } from '../../contracts/generated/models.ts';
import type { Random } from '../simulation/random.ts';
import type { Workload } from './workload.ts';

/** More than the operation reads at a time, so that one answer takes several reads. */
const ACCOUNTS = 240;
const SEEDED_AT_ONCE = 80;
const BALANCE = 10;
const TYPE = 'account';

/** The state of an account that a client read last. */
interface Seen {
  readonly revision: number;
  readonly balance: number;
}

/**
 * Clients that move amounts between two accounts, far from each other in the list, and read all accounts in one call. What
 * all of them hold together never changes, so that an answer with another sum shows a part of some commit.
 */
export class WideClients {
  readonly #work: Workload;
  readonly #seen = new Map<string, Seen>();
  #transfers = 0;
  fault: string | null = null;

  constructor(work: Workload) {
    this.#work = work;
  }

  async run(): Promise<void> {
    for (let from = 0; from < ACCOUNTS; from += SEEDED_AT_ONCE) await this.#seed(from);
    await this.#work.run((random) => (random.chance(0.6) ? this.#transfer(random) : this.#readAll(random)));
  }

  async #seed(from: number): Promise<void> {
    const mutations = Array.from({ length: SEEDED_AT_ONCE }, (_, n) =>
      this.#mutation(nameOf(from + n), BALANCE, null),
    );
    const request = { idempotencyKey: `seed ${from}`, mutations };
    const [outcome] = await this.#work.askEach('commitCanonicalTransaction', request);
    if (outcome?.kind !== 'answer') throw new Error('the accounts were not committed');
    this.#learn(outcome.body.documents);
  }

  async #transfer(random: Random): Promise<void> {
    const half = ACCOUNTS / 2;
    const pair = [nameOf(random.below(half)), nameOf(half + random.below(half))] as const;
    const [from, to] = pair.map((id) => this.#seen.get(id));
    if (from === undefined || to === undefined) throw new Error('an account was not seeded');
    const amount = random.below(5) - 2;
    const mutations = [
      this.#mutation(pair[0], from.balance - amount, from.revision),
      this.#mutation(pair[1], to.balance + amount, to.revision),
    ];
    const request = { idempotencyKey: `transfer ${++this.#transfers}`, mutations };
    const outcome = await this.#work.ask('commitCanonicalTransaction', request);
    if (outcome.kind === 'answer') this.#learn(outcome.body.documents);
  }

  async #readAll(random: Random): Promise<void> {
    const order = random.chance(0.5) ? { orderByIndex: 'place' } : {};
    const known = new Map(this.#seen);
    const body = { documentType: TYPE, limit: 1_000, ...order };
    const outcome = await this.#work.ask('queryCanonicalDocuments', body);
    if (outcome.kind !== 'answer') return;
    const { items } = outcome.body;
    this.#learn(items);
    this.fault ??= faultOf(items, known);
  }

  /** An account may be seen out of order: the newest state counts. */
  #learn(documents: readonly CanonicalDocument[]): void {
    for (const document of documents) {
      const { id, revision } = document;
      if ((this.#seen.get(id)?.revision ?? 0) < revision) {
        this.#seen.set(id, { revision, balance: balanceOf(document) });
      }
    }
  }

  #mutation(id: string, balance: number, expectedRevision: number | null): CanonicalMutation {
    const { tenantId } = this.#work;
    const document = {
      tenantId,
      documentType: TYPE,
      id,
      schemaVersion: 'v1',
      data: { balance },
      indexes: { place: id },
    };
    return { operation: 'upsert', document, precondition: { expectedRevision } };
  }
}

/** `known` is what was answered before the call, which no answer may fall behind. */
function faultOf(items: readonly CanonicalDocument[], known: ReadonlyMap<string, Seen>): string | null {
  if (items.length !== ACCOUNTS) return `an answer shows ${items.length} accounts of ${ACCOUNTS}`;
  const sum = items.reduce((total, item) => total + balanceOf(item), 0);
  if (sum !== ACCOUNTS * BALANCE) return `an answer shows a sum of ${sum}, which the accounts never held`;
  const old = items.find(({ id, revision }) => revision < (known.get(id)?.revision ?? 0));
  return old === undefined ? null : `an answer shows ${old.id} as it was before the call`;
}

function balanceOf({ data }: CanonicalDocument): number {
  return Number(data?.['balance']);
}

function nameOf(account: number): string {
  return `a${`${account}`.padStart(4, '0')}`;
}
