import type {
  CanonicalDocument,
  CanonicalMutation,
  CanonicalTransactionRequest,
} from '../../../../contracts/generated/models.ts';
import type { CallContext } from '../../../http/handler.ts';
import type { JsonObject } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { commitCanonicalTransaction } from '../commit/commit-operation.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { readDocument } from '../document/document.ts';
import { findRecord } from '../document/document-operations.ts';
import { tenantCollections } from '../records.ts';
import { bringBack, copyTenant, type TenantCopy } from './preflight-copy.ts';

// Both tenants use the same names, so that a store that mixes tenants must collide.
const DOCUMENT_TYPE = 'preflight';
const SEED = 'seed';
const ADDED = 'added';

/** A temporary tenant of the probe. It is written and read by the operations of callers. */
export class ProbeTenant {
  readonly #tenantId: string;
  readonly #marker: string;
  readonly #dependencies: CanonicalDependencies;
  readonly #context: CallContext;

  /** `marker` separates the records of this tenant from those of all others. */
  constructor(tenantId: string, marker: string, dependencies: CanonicalDependencies, context: CallContext) {
    this.#tenantId = tenantId;
    this.#marker = marker;
    this.#dependencies = dependencies;
    this.#context = context;
  }

  /** Writes a document with an index, a fence that it holds, and an event. */
  async seed(): Promise<void> {
    const owner = { ownerDocumentType: DOCUMENT_TYPE, ownerDocumentId: SEED };
    await this.#commit({
      tenantId: this.#tenantId,
      idempotencyKey: SEED,
      mutations: [this.#upsert(SEED, { marker: this.#marker })],
      fences: [{ operation: 'claim', name: DOCUMENT_TYPE, value: SEED, ...owner }],
      outbox: [{ id: SEED, topic: DOCUMENT_TYPE, key: SEED, payload: { marker: this.#marker } }],
    });
  }

  /** Overwrites the seed document and adds another one. */
  async change(): Promise<void> {
    const mutations = [this.#upsert(SEED, {}), this.#upsert(ADDED, {})];
    await this.#commit({ tenantId: this.#tenantId, idempotencyKey: ADDED, mutations });
  }

  async isAsSeeded(): Promise<boolean> {
    const seed = await this.#read(SEED);
    return seed?.data?.['marker'] === this.#marker && (await this.#read(ADDED)) === undefined;
  }

  async isChanged(): Promise<boolean> {
    const seed = await this.#read(SEED);
    return seed?.revision === 2 && (await this.#read(ADDED)) !== undefined;
  }

  async copy(): Promise<TenantCopy> {
    const { store, world } = this.#dependencies;
    return copyTenant(await store(), this.#tenantId, world.clock.now());
  }

  async bringBack(copy: TenantCopy): Promise<void> {
    await bringBack(await this.#dependencies.store(), copy);
  }

  async #commit(body: CanonicalTransactionRequest): Promise<void> {
    const commit = commitCanonicalTransaction(this.#dependencies);
    await commit({ params: { tenantId: this.#tenantId }, query: {}, body }, this.#context);
  }

  #upsert(id: string, data: JsonObject): CanonicalMutation {
    const name = { tenantId: this.#tenantId, documentType: DOCUMENT_TYPE, id };
    const document = { ...name, schemaVersion: 'v1', data, indexes: { [DOCUMENT_TYPE]: id } };
    return { operation: 'upsert', document };
  }

  async #read(id: string): Promise<CanonicalDocument | undefined> {
    try {
      const tenantId = this.#tenantId;
      const record = await findRecord(this.#dependencies, tenantId, { documentType: DOCUMENT_TYPE, id });
      return readDocument(tenantId, record);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'not_found') return undefined;
      throw error;
    }
  }
}

/** Whether the copy holds what a seed writes: one document, fence, event and receipt. */
export function isSeed({ records, manifest }: TenantCopy): boolean {
  const written = records.map(({ key }) => key.collection).sort();
  const expected = tenantCollections.map(({ name }) => name).sort();
  return written.join() === expected.join() && Object.values(manifest.counts).every((count) => count === 1);
}
