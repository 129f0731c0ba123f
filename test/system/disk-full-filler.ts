import { randomBytes } from 'node:crypto';
import type {
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
  ProblemDetails,
  ServerReadinessReport,
} from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import type { Random } from '../simulation/random.ts';
import { commitFaults, leaseFaults } from './kill-loop-audit.ts';
import { type Attempt, TenantLog } from './kill-loop-log.ts';
import { type LoopServer, type Reply, tenantPath } from './kill-loop-server.ts';

const DOCUMENTS = 7;

/** Whether the store refused for want of room; any other refusal is an error. */
export function isFull(reply: Reply | undefined): boolean {
  if (reply === undefined) return false;
  if (reply.status === 200 || reply.status === 204) return false;
  if ((reply.body as ProblemDetails).code === 'storage_full') return true;
  throw new Error(`not made, and not for want of room: ${JSON.stringify(reply)}`);
}

/** Writes to a tenant until its disk is full, and logs the outcome of each commit. */
export class Filler {
  readonly log: TenantLog;
  readonly #server: LoopServer;
  #count = 0;

  constructor(server: LoopServer, tenantId: string) {
    this.#server = server;
    this.log = new TenantLog(tenantId);
  }

  /** One commit, about so large. Gives the answer. */
  async commit(bytes: number): Promise<Reply | undefined> {
    return this.send(this.log.sent(this.#draft(bytes)));
  }

  async send(attempt: Attempt): Promise<Reply | undefined> {
    attempt.fate = 'open';
    const reply = await this.post('/transactions', attempt.body);
    if (isFull(reply)) attempt.fate = 'refused';
    else if (reply !== undefined) this.log.acknowledged(attempt, reply.body as CanonicalTransactionResult);
    return reply;
  }

  /** Commits until one finds no room, whose answer it gives. */
  async fill(bytes: number): Promise<Reply> {
    for (;;) {
      const reply = await this.commit(bytes);
      if (reply === undefined) throw new Error('the server has gone');
      if (isFull(reply)) return reply;
    }
  }

  /**
   * Commits of many sizes at once, until each writer was refused `refusals` times, or the server is killed. `answered` is
   * called after every answer, with their number.
   */
  async fillTogether(
    random: Random,
    writers: number,
    refusals: number,
    answered: (count: number) => void = () => undefined,
  ): Promise<void> {
    let count = 0;
    const writer = async (): Promise<void> => {
      for (let left = refusals; left > 0; ) {
        const reply = await this.commit(random.pick([10, 500, 5_000, 60_000]));
        if (reply === undefined) return;
        if (isFull(reply)) left -= 1;
        answered(++count);
      }
    };
    await Promise.all(Array.from({ length: writers }, writer));
  }

  /** The contradictions between the store and the log. */
  async faults(): Promise<string[]> {
    const snapshot = await this.export();
    return [...commitFaults(this.log, snapshot, this.log.step), ...leaseFaults(this.log, snapshot)];
  }

  async export(): Promise<TenantSnapshot> {
    const reply = await this.#server.ask('GET', tenantPath(this.log.tenantId, '/export'));
    if (reply?.status !== 200) throw new Error(`an export was answered with ${JSON.stringify(reply?.body)}`);
    return reply.body as TenantSnapshot;
  }

  async post(path: string, body: unknown): Promise<Reply | undefined> {
    return this.#server.ask('POST', tenantPath(this.log.tenantId, path), body);
  }

  #draft(bytes: number): CanonicalTransactionRequest {
    const { tenantId } = this.log;
    const key = `${this.#count++}`;
    const id = `d${this.#count % DOCUMENTS}`;
    // Text that no compression makes much smaller.
    const data = { key, text: randomBytes(Math.ceil(bytes / 2)).toString('hex') };
    const document = { tenantId, documentType: 'doc', id, schemaVersion: '1', data, indexes: { id } };
    return {
      idempotencyKey: key,
      mutations: [{ operation: 'upsert', document }],
      fences: [{ name: 'key', value: key, ownerDocumentType: 'doc', ownerDocumentId: id }],
      outbox: [{ topic: 't', key: id, payload: { key } }],
    };
  }
}

export async function readiness(server: LoopServer): Promise<ServerReadinessReport> {
  const reply = await server.ask('GET', '/readiness');
  return reply?.body as ServerReadinessReport;
}
