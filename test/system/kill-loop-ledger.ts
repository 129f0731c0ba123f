import { createHash } from 'node:crypto';
import type {
  CanonicalMigrationReceipt,
  CanonicalMigrationReceiptList,
  CanonicalPreflightReport,
} from '../../contracts/generated/models.ts';
import type { Random } from '../simulation/random.ts';
import { same } from './kill-loop-audit.ts';
import { codeOf } from './kill-loop-commits.ts';
import type { LoopServer } from './kill-loop-server.ts';

const LEDGER = '/canonical/migrations';
/** Migrations of a batch, which are recorded together or not at all. */
const BATCH = 3;

/** An operator: records migrations, batch by batch, looks at the ledger, and probes the store. */
export class LedgerClient {
  readonly #server: LoopServer;
  readonly #fault: (text: string) => void;
  /** Batches that were sent, by number, and whether they were answered. */
  readonly #batches: boolean[] = [];
  /** Receipts as they were seen first. */
  readonly #seen = new Map<string, CanonicalMigrationReceipt>();

  constructor(server: LoopServer, fault: (text: string) => void) {
    this.#server = server;
    this.#fault = fault;
  }

  async apply(random: Random): Promise<string> {
    const again = this.#batches.length > 0 && random.chance(0.3);
    const batch = again ? random.below(this.#batches.length) : this.#batches.push(false) - 1;
    const reply = await this.#server.ask('POST', LEDGER, migrationsOf(batch, 'kept'));
    if (reply === undefined) return 'apply';
    if (reply.status === 204) this.#batches[batch] = true;
    else this.#fault(`a batch of migrations was answered with ${reply.status} ${codeOf(reply)}`);
    return 'apply';
  }

  /** A recorded migration never changes. */
  async contradict(random: Random): Promise<string> {
    const batch = this.#batches.length === 0 ? undefined : random.below(this.#batches.length);
    if (batch === undefined || this.#batches[batch] !== true) return 'contradiction';
    const reply = await this.#server.ask('POST', LEDGER, migrationsOf(batch, 'changed'));
    if (reply !== undefined && codeOf(reply) !== 'migration_checksum_conflict') {
      this.#fault(`another checksum was answered with ${reply.status} ${codeOf(reply)}`);
    }
    return 'contradiction';
  }

  /** The list has every batch that was answered before the call; every batch is whole; no listed batch has changed since. */
  async list(): Promise<string> {
    const answered = new Set(this.#batches.flatMap((done, batch) => (done ? [batch] : [])));
    const reply = await this.#server.ask('GET', LEDGER);
    if (reply === undefined) return 'list';
    if (reply.status !== 200) {
      this.#fault(`the ledger was answered with ${reply.status}`);
      return 'list';
    }
    const list = reply.body as CanonicalMigrationReceiptList;
    const found = new Map(list.map((receipt) => [receipt.id, receipt]));
    for (const [batch] of this.#batches.entries()) {
      const there = migrationsOf(batch, 'kept').filter(({ id }) => found.has(id)).length;
      if (there > 0 && there < BATCH) this.#fault(`the batch ${batch} of migrations is recorded in part`);
      if (there === 0 && answered.has(batch)) this.#fault(`the batch ${batch} of migrations is lost`);
    }
    for (const [id, first] of this.#seen) {
      if (!same(found.get(id) ?? null, first)) this.#fault(`the migration ${id} has changed or is gone`);
    }
    for (const receipt of list) {
      if (!this.#seen.has(receipt.id)) this.#seen.set(receipt.id, receipt);
    }
    return 'list';
  }

  /** While no client writes, the ledger's count is the length of its list. */
  async check(): Promise<void> {
    await this.list();
    const reply = await this.#server.ask('GET', '/canonical/preflight');
    const report = reply?.body as CanonicalPreflightReport | undefined;
    if (report?.migrationReceiptCount !== this.#seen.size) {
      this.#fault(`the ledger counts ${report?.migrationReceiptCount} and lists ${this.#seen.size}`);
    }
  }

  async probe(): Promise<string> {
    const reply = await this.#server.ask('POST', '/canonical/preflight/probe');
    if (reply === undefined) return 'probe';
    const { dataPlaneProbe } = reply.body as Partial<CanonicalPreflightReport>;
    if (reply.status !== 200 || dataPlaneProbe?.ready !== true) {
      this.#fault(`the probe was answered with ${reply.status}: ${JSON.stringify(dataPlaneProbe?.checks)}`);
    }
    return 'probe';
  }
}

function migrationsOf(batch: number, word: string) {
  return Array.from({ length: BATCH }, (_, n) => {
    const id = `m${String(batch).padStart(4, '0')}-${n}`;
    const digest = createHash('sha256').update(`${id} ${word}`).digest('hex');
    return { namespace: 'loop', id, checksum: `sha256:${digest}`, description: null };
  });
}
