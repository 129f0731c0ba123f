import type {
  CanonicalFenceMutation,
  CanonicalMutation,
  CanonicalTransactionRequest,
  CanonicalWritePrecondition,
} from '../../contracts/generated/models.ts';
import type { Outcome } from '../simulation/canonical-calls.ts';
import type { Random } from '../simulation/random.ts';
import { MEMBERS } from './cells.ts';
import type { Workload } from './workload.ts';

const CELLS = ['cell-0', 'cell-1', 'cell-2'] as const;
const FENCE_NAME = 'slot';
/** How many of the latest requests of a cell may be sent once more: some of them are still under way. */
const RECENT = 6;

/** The clients' common knowledge of a cell. */
interface Cell {
  readonly type: string;
  readonly revisions: Map<string, number>;
  readonly requests: CanonicalTransactionRequest[];
}

/** Clients that commit, repeat, contradict and read a few documents and fences. */
export class CellClients {
  readonly #work: Workload;
  readonly #cells: readonly Cell[] = CELLS.map((type) => ({ type, revisions: new Map(), requests: [] }));
  #keys = 0;

  constructor(work: Workload) {
    this.#work = work;
  }

  async run(): Promise<void> {
    await this.#work.run((random) => this.#turn(random));
    await this.#settle();
  }

  /** Every commit is sent once more, so that its outcome is known, and read through every instance. */
  async #settle(): Promise<void> {
    for (const { type, requests } of this.#cells) {
      const unanswered = this.#work.history.observations
        .filter(({ outcome, body }) => outcome.kind === 'unknown' && requests.includes(body as never))
        .map(({ body }) => body as CanonicalTransactionRequest);
      for (const request of new Set(unanswered)) {
        await this.#work.askEach('commitCanonicalTransaction', request);
      }
      await this.#work.askEach('queryCanonicalDocuments', { documentType: type, includeDeleted: true });
    }
  }

  async #turn(random: Random): Promise<void> {
    const cell = random.pick(this.#cells);
    const fate = random.below(100);
    if (fate < 40) await this.#commit(cell, this.#compose(cell, random));
    else if (fate < 47) {
      // Two clients with one intent.
      const request = this.#compose(cell, random);
      await Promise.all([this.#commit(cell, request), this.#commit(cell, request)]);
    } else if (fate < 58) await this.#again(cell, random);
    else if (fate < 75) await this.#readBoth(cell, random);
    else if (fate < 90) await this.#read(cell, random);
    else await this.#newestRevision(cell, random);
  }

  async #commit(cell: Cell, request: CanonicalTransactionRequest): Promise<void> {
    const outcome = await this.#work.ask('commitCanonicalTransaction', request);
    if (outcome.kind === 'answer') {
      for (const { id, revision } of outcome.body.documents) cell.revisions.set(id, revision);
    }
  }

  #compose(cell: Cell, random: Random): CanonicalTransactionRequest {
    const key = `k${++this.#keys}`;
    const members = MEMBERS.filter(() => random.chance(0.65));
    const fences = random.chance(members.length === 0 ? 1 : 0.3) ? [this.#fence(cell, random)] : [];
    const mutations = members.map((id) => this.#mutation(cell, id, key, random));
    const request = { idempotencyKey: key, mutations, fences };
    cell.requests.push(request);
    return request;
  }

  /** A recent request, by whomever, as it was or under its key with other content. */
  async #again(cell: Cell, random: Random): Promise<void> {
    const recent = cell.requests.slice(-RECENT);
    if (recent.length === 0) return;
    const request = random.pick(recent);
    if (!random.chance(0.25)) return this.#commit(cell, request);
    const other = this.#mutation(cell, 'a', request.idempotencyKey, random);
    return this.#commit(cell, { ...request, mutations: [other] });
  }

  #mutation(cell: Cell, id: string, key: string, random: Random): CanonicalMutation {
    const precondition = this.#precondition(cell, id, random);
    const { type: documentType } = cell;
    if (random.chance(0.15)) return { operation: 'delete', documentType, id, precondition };
    const { tenantId } = this.#work;
    const document = { tenantId, documentType, id, schemaVersion: 'v1', data: { key } };
    return { operation: 'upsert', document, precondition };
  }

  #precondition(cell: Cell, id: string, random: Random): CanonicalWritePrecondition | null {
    const fate = random.below(20);
    const revision = cell.revisions.get(id);
    if (fate < 10 && revision !== undefined) return { expectedRevision: revision };
    if (fate === 10) return { mustNotExist: true };
    return fate === 11 ? { mustExist: true } : null;
  }

  #fence({ type }: Cell, random: Random): CanonicalFenceMutation {
    const operation = random.chance(0.45) ? 'release' : 'claim';
    const ownerDocumentId = random.pick(MEMBERS);
    return { operation, name: FENCE_NAME, value: type, ownerDocumentType: type, ownerDocumentId };
  }

  async #readBoth({ type, revisions }: Cell, random: Random): Promise<void> {
    const body = { documentType: type, includeDeleted: random.chance(0.8) };
    const outcome = await this.#work.ask('queryCanonicalDocuments', body);
    if (outcome.kind !== 'answer') return;
    for (const { id, revision } of outcome.body.items) revisions.set(id, revision);
  }

  async #read({ type, revisions }: Cell, random: Random): Promise<void> {
    const id = random.pick(MEMBERS);
    const body = { documentType: type, id, includeDeleted: random.chance(0.7) };
    const outcome: Outcome<'readCanonicalDocument'> = await this.#work.ask('readCanonicalDocument', body);
    if (outcome.kind === 'answer') revisions.set(id, outcome.body.revision);
  }

  async #newestRevision({ type }: Cell, random: Random): Promise<void> {
    const body = { documentType: type, id: random.pick(MEMBERS), limit: 1 };
    await this.#work.ask('queryCanonicalDocumentRevisions', body);
  }
}
