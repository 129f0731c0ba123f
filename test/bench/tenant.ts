import type { OperationTypes } from '../../contracts/generated/operations.ts';
import { machine } from '../../functions/compose/machine.ts';
import { canonicalHandlers } from '../../functions/groups/canonical/handlers.ts';
import type { CallContext } from '../../functions/http/handler.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import { readAnswer } from '../support/written-answer.ts';
import { DOCUMENTS, documentId, TENANT, upsert } from './workload.ts';

type Body<Id extends keyof OperationTypes> = OperationTypes[Id]['body'];

/** The operations over a store in this process, without HTTP: the rules and the port. */
export class BenchTenant {
  readonly #handlers: ReturnType<typeof canonicalHandlers>;

  constructor(store: RecordStore) {
    const open = () => Promise.resolve(store);
    this.#handlers = canonicalHandlers({
      store: open,
      world: machine,
      pageTokens: new PageTokens(sharedSecret(open, machine.random, 'page-tokens')),
      log: () => undefined,
      configuration: {
        development: true,
        provider: store.provider,
        authenticationMode: 'none',
        identityPolicyCount: 0,
        tenantPoliciesEnforced: false,
        messageBytesMax: null,
        limitOf: () => ({ bytes: 1_000_000, setting: 'Quotas:TenantBytesMax' }),
        rateLimit: { permitLimit: 1, windowSeconds: 1 },
      },
    });
  }

  async preload(): Promise<void> {
    for (let at = 0; at < DOCUMENTS; at += 100) {
      const mutations = Array.from({ length: 100 }, (_, n) => upsert(documentId(at + n)));
      await this.commit({ tenantId: TENANT, idempotencyKey: `preload-${at}`, mutations });
    }
  }

  async commit(body: object): Promise<void> {
    await this.#handlers.commitCanonicalTransaction(
      input(body as Body<'commitCanonicalTransaction'>),
      context(),
    );
  }

  async read(documentType: string, id: string): Promise<void> {
    await this.#handlers.readCanonicalDocument(input({ documentType, id }), context());
  }

  async query(body: Body<'queryCanonicalDocuments'>): Promise<number> {
    return readAnswer((await this.#handlers.queryCanonicalDocuments(input(body), context())).body).items
      .length;
  }

  async lease(body: Body<'leaseCanonicalOutbox'>): Promise<number> {
    return (await this.#handlers.leaseCanonicalOutbox(input(body), context())).body.length;
  }
}

function input<B>(body: B) {
  return { params: { tenantId: TENANT }, query: {}, body };
}

function context(): CallContext {
  return {
    caller: { kind: 'development', principal: null },
    correlationId: 'bench',
    now: machine.clock.now(),
    signal: new AbortController().signal,
  };
}
