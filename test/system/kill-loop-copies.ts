import type {
  CanonicalDocumentQueryResult,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import type { Random } from '../simulation/random.ts';
import { same } from './kill-loop-audit.ts';
import { codeOf } from './kill-loop-commits.ts';
import type { LoopServer, Reply } from './kill-loop-server.ts';
import { tenantPath } from './kill-loop-server.ts';

/** Generations of the tenant, each larger than the one before, and each restored in several transactions. */
const GENERATIONS = 3;
const DOCUMENTS = 60;

/** The commits made on top of a generation are of this type, one document, fence and event each. */
const SINCE = 'since';

/** A possible state of the tenant: a generation, with commits on top of which some were answered. */
interface Candidate {
  readonly generation: number;
  readonly since: readonly string[];
}

const LISTS = ['documents', 'revisions', 'fences', 'outbox', 'transactions'] as const;

/**
 * One client that restores a tenant to one of its generations, over and over, commits on top and exports. A restore that was
 * cut off has happened or not; the tenant is the old one or the new one, and never a mix of them.
 */
export class CopyClient {
  readonly #server: LoopServer;
  readonly #tenantId: string;
  readonly #fault: (text: string) => void;
  readonly #snapshots: TenantSnapshot[] = [];
  #candidates: readonly Candidate[] = [];
  /** A commit that was sent and not answered. */
  #open: string | null = null;
  #commits = 0;

  constructor(server: LoopServer, tenantId: string, fault: (text: string) => void) {
    this.#server = server;
    this.#tenantId = tenantId;
    this.#fault = fault;
  }

  /** Makes the generations and keeps a snapshot of each. */
  async prepare(): Promise<void> {
    for (let generation = 0; generation < GENERATIONS; generation++) {
      const reply = await this.#post('/transactions', generationCommit(this.#tenantId, generation));
      if (reply?.status !== 200) throw new Error(`a generation was answered with ${reply?.status}`);
      this.#snapshots.push(await this.#export());
    }
    this.#candidates = [{ generation: GENERATIONS - 1, since: [] }];
  }

  async turn(random: Random): Promise<string> {
    const fate = random.below(100);
    if (fate < 45) return this.#restore(random.below(GENERATIONS));
    if (fate < 65) return this.#commit();
    if (fate < 80) return this.#refused(random);
    await this.#compareExport();
    return 'export';
  }

  /** Readers see one generation, also during a restore. */
  async read(): Promise<string> {
    const reply = await this.#post('/documents/query', { documentType: 'generation', limit: 1_000 });
    if (reply === undefined) return 'generation';
    const { items = [] } = reply.body as Partial<CanonicalDocumentQueryResult>;
    const met = new Set(items.map(({ data }) => JSON.stringify(data)));
    if (reply.status !== 200 || items.length !== DOCUMENTS || met.size !== 1) {
      this.#fault(`a query met ${items.length} documents of ${met.size} generations`);
    }
    return 'generation';
  }

  /** After a kill: the tenant is one of those that it may be. From here on it is known which. */
  async check(): Promise<void> {
    const found = await this.#export();
    const kept = this.#candidates.find((candidate) => this.#isOne(found, candidate));
    if (kept === undefined) {
      const generations = this.#candidates.map(({ generation }) => generation).join(' or ');
      this.#fault(
        `the restored tenant is neither old nor new: not ${generations} with what was committed on it`,
      );
      return;
    }
    this.#candidates = [{ generation: kept.generation, since: sinceIn(found) }];
    this.#open = null;
  }

  async #restore(generation: number): Promise<string> {
    const snapshot = this.#snapshots[generation];
    const before = this.#candidates;
    const after = { generation, since: [] };
    this.#candidates = [...before, after];
    const expectedContentHash = snapshot?.contentHash;
    const reply = await this.#post('/restore', { snapshot, expectedContentHash });
    if (reply === undefined) return 'restore';
    if (reply.status === 204) this.#candidates = [after];
    else this.#fault(`a restore was answered with ${reply.status} ${codeOf(reply)}`);
    return 'restore';
  }

  /** The expected content is another one: nothing is replaced. */
  async #refused(random: Random): Promise<string> {
    const generation = random.below(GENERATIONS);
    const other = this.#snapshots[(generation + 1) % GENERATIONS];
    const body = { snapshot: this.#snapshots[generation], expectedContentHash: other?.contentHash };
    const reply = await this.#post('/restore', body);
    if (reply !== undefined && codeOf(reply) !== 'content_hash_mismatch') {
      this.#fault(`a restore of other content was answered with ${reply.status} ${codeOf(reply)}`);
    }
    return 'refused restore';
  }

  async #commit(): Promise<string> {
    const key = `${SINCE}-${++this.#commits}`;
    this.#open = key;
    const reply = await this.#post('/transactions', sinceCommit(this.#tenantId, key));
    if (reply === undefined) return 'commit on a restored tenant';
    this.#open = null;
    if (reply.status !== 200) this.#fault(`a commit was answered with ${reply.status} ${codeOf(reply)}`);
    this.#candidates = this.#candidates.map(({ generation, since }) => ({
      generation,
      since: [...since, key],
    }));
    return 'commit on a restored tenant';
  }

  async #compareExport(): Promise<void> {
    const reply = await this.#server.ask('GET', tenantPath(this.#tenantId, '/export'));
    if (reply === undefined) return;
    const found = reply.body as TenantSnapshot;
    if (reply.status !== 200 || !this.#candidates.some((candidate) => this.#isOne(found, candidate))) {
      this.#fault(`an export was answered with ${reply.status} and another tenant than the restored one`);
    }
  }

  #isOne(found: TenantSnapshot, { generation, since }: Candidate): boolean {
    const base = this.#snapshots[generation];
    if (base === undefined) return false;
    const there = sinceIn(found);
    if (there.length === 0 && since.length === 0) return found.contentHash === base.contentHash;
    const expected = [...since, ...(this.#open !== null && there.includes(this.#open) ? [this.#open] : [])];
    if (!same(there, expected.sort())) return false;
    return LISTS.every((list) => {
      const [added, kept] = [true, false].map((wanted) =>
        [...found[list]].filter((item) => isSince(item) === wanted),
      );
      // Each of these commits wrote one of each kind, and the rest is the generation to the last byte.
      return added?.length === there.length && same(kept, [...base[list]]);
    });
  }

  async #export(): Promise<TenantSnapshot> {
    const reply = await this.#server.ask('GET', tenantPath(this.#tenantId, '/export'));
    if (reply?.status !== 200) throw new Error(`an export was answered with ${reply?.status}`);
    return reply.body as TenantSnapshot;
  }

  #post(path: string, body: unknown): Promise<Reply | undefined> {
    return this.#server.ask('POST', tenantPath(this.#tenantId, path), body);
  }
}

function isSince(item: object): boolean {
  const { documentType, name, topic, idempotencyKey } = item as Record<string, unknown>;
  return (
    documentType === SINCE ||
    name === SINCE ||
    topic === SINCE ||
    String(idempotencyKey).startsWith(`${SINCE}-`)
  );
}

function sinceIn({ transactions }: TenantSnapshot): string[] {
  const keys = transactions.map(({ idempotencyKey }) => idempotencyKey);
  return keys.filter((key) => key.startsWith(`${SINCE}-`)).sort();
}

function sinceCommit(tenantId: string, key: string): CanonicalTransactionRequest {
  const document = { tenantId, documentType: SINCE, id: key, schemaVersion: '1', data: { key } };
  return {
    idempotencyKey: key,
    mutations: [{ operation: 'upsert', document }],
    fences: [{ name: SINCE, value: key, ownerDocumentType: SINCE, ownerDocumentId: key }],
    outbox: [{ topic: SINCE, key, payload: { key } }],
  };
}

/** Every generation writes all documents, moves the fences and adds events of its own. */
function generationCommit(tenantId: string, generation: number): CanonicalTransactionRequest {
  const ids = Array.from({ length: DOCUMENTS }, (_, n) => `g${n}`);
  return {
    idempotencyKey: `generation-${generation}`,
    mutations: ids.map((id) => ({
      operation: 'upsert',
      document: {
        tenantId,
        documentType: 'generation',
        id,
        schemaVersion: '1',
        data: { generation, text: `${generation}`.repeat(100) },
        indexes: { generation: `${generation}` },
      },
    })),
    fences: ids.map((id) => ({
      name: `generation-${generation}`,
      value: id,
      ownerDocumentType: 'generation',
      ownerDocumentId: id,
    })),
    outbox: ids.map((id) => ({ topic: `generation-${generation}`, key: id, payload: { generation } })),
  };
}
