import type {
  CanonicalOutboxQuery,
  CanonicalTenantSnapshot,
  CanonicalTransactionRequest,
} from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { AnyOperation, Outcome } from './canonical-calls.ts';
import { Client, type Workload } from './clients.ts';
import { settled } from './event-model.ts';
import { objectHistories } from './histories.ts';
import { isLinearizable } from './linearizability.ts';
import type { CanonicalModel } from './model.ts';
import { type ObjectHistories } from './object-histories.ts';
import { documentModel, eventModel, fenceModel } from './object-models.ts';
import type { CommitPointOracle } from './oracle.ts';
import { withoutReplayed } from './portraits.ts';
import { must } from './violation.ts';

const STATES = ['ready', 'leased', 'scheduled', 'delivered', 'dead-letter'] as const;
/** Longer than any lease or delay of a run, and than the clocks differ. */
const LONG_MS = 3_600_000;
const ATTEMPTS_MAX = 100;

/** Looks at everything once the faults have stopped: acknowledged commits are there, whole, and the outbox can be emptied. */
export class Auditor extends Client {
  readonly #oracle: CommitPointOracle;

  constructor(work: Workload, oracle: CommitPointOracle) {
    super('auditor', work);
    this.#oracle = oracle;
  }

  async run(): Promise<void> {
    const model = this.#oracle.model(this.work.tenantId);
    await this.work.cluster.scheduler.sleep(this, LONG_MS);
    this.#checkCounts(model);
    await this.#checkDocuments(model);
    await this.#checkReceipts(model);
    await this.#checkStates(model);
    await this.#drain(model);
    await this.#copy();
  }

  /** The final tenant can be copied and restored, and both forms of a copy agree. */
  async #copy(): Promise<void> {
    const snapshot = await this.#snapshot();
    const archive = await this.#ask('exportTenantArchive', {}, null);
    must(archive.kind === 'answer', 'answer', 'an archive was refused');
    const { snapshotContentHash } = archive.body.manifest;
    must(snapshotContentHash === snapshot.contentHash, 'I14 export', 'two copies of one content differ');
    for (const bring of [
      () => this.#ask('restoreCanonicalTenant', {}, { snapshot }),
      () => this.#ask('restoreTenantArchive', {}, { archive: archive.body, spoiledFrom: 0 }),
    ]) {
      must((await bring()).kind === 'answer', 'answer', 'a restore was refused');
      const { contentHash } = await this.#snapshot();
      must(contentHash === snapshot.contentHash, 'I15 restore', 'a restored tenant has another content');
    }
  }

  async #snapshot(): Promise<CanonicalTenantSnapshot> {
    const outcome = await this.#ask('exportCanonicalTenant', {}, null);
    must(outcome.kind === 'answer', 'answer', 'an export was refused');
    return outcome.body;
  }

  async #ask<Id extends AnyOperation>(
    operation: Id,
    more: object,
    body: object | null,
  ): Promise<Outcome<Id>> {
    const outcome = await this.#patiently<Id>(operation, { ...this.params(), ...more }, body);
    must(
      outcome.kind === 'answer' || outcome.kind === 'refused',
      'progress',
      `${operation} was not answered`,
    );
    return outcome;
  }

  /** An instance that has not come up again yet refuses the connection. */
  async #patiently<Id extends AnyOperation>(
    operation: Id,
    params: { tenantId: string },
    body: object | null,
  ) {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.send<Id>(operation, params, body);
      if (outcome.kind !== 'failed' || attempt === ATTEMPTS_MAX) return outcome;
      await this.pause(2);
    }
  }

  #checkCounts(model: CanonicalModel): void {
    const { cluster, tenantId } = this.work;
    const count = (name: string) => cluster.database.all({ kind: 'tenants', name: tenantId }, name).length;
    must(
      count('documents') === model.documents.size,
      'I2 whole',
      'the documents are not those that were written',
    );
    must(
      count('commits') === model.receipts.size,
      'I3 one result',
      'the receipts are not those that were written',
    );
    must(count('fences') === model.fences.size, 'I5 fence', 'the fences are not those that were claimed');
    must(count('events') === model.events.size, 'I6 event', 'the events are not those that were written');
  }

  async #checkDocuments(model: CanonicalModel): Promise<void> {
    for (const [name, { revision, deleted, dataText }] of model.documents) {
      const [documentType, id] = JSON.parse(name) as [string, string];
      const body = { documentType, id, includeDeleted: true };
      const outcome = await this.#ask('readCanonicalDocument', {}, body);
      must(outcome.kind === 'answer', 'I1 acknowledged', `${id} is gone`);
      must(outcome.body.revision === revision, 'I4 revisions', `${id} has revision ${outcome.body.revision}`);
      const { data } = outcome.body;
      const same =
        outcome.body.deleted === deleted && (data === null ? null : canonicalJson(data)) === dataText;
      must(same, 'I2 whole', `${id} is not as it was left`);
      const list = await this.#ask('queryCanonicalDocumentRevisions', {}, { documentType, id, limit: 1_000 });
      must(list.kind === 'answer' && list.body.length === revision, 'I4 revisions', `${id} lacks revisions`);
      list.body.forEach((entry, n) => {
        must(entry.revision === revision - n, 'I4 revisions', `the revisions of ${id} have a gap`);
      });
    }
  }

  /** Every key is sent once more, as a client would that never heard an answer. */
  async #checkReceipts(model: CanonicalModel): Promise<void> {
    for (const [key, { request, result }] of model.receipts) {
      const body = JSON.parse(request) as CanonicalTransactionRequest;
      const outcome = await this.#ask('commitCanonicalTransaction', {}, body);
      must(outcome.kind === 'answer', 'I1 acknowledged', `${key} is not answered from its receipt`);
      must(outcome.body.replayed, 'I3 one result', `${key} was committed a second time`);
      must(withoutReplayed(outcome.body) === result, 'I3 one result', `${key} has another result`);
    }
  }

  async #checkStates(model: CanonicalModel): Promise<void> {
    let sum = 0;
    for (const state of STATES) sum += await this.#count(state);
    must(sum === model.events.size, 'I13 counts', `${sum} events in all states, of ${model.events.size}`);
    must(
      (await this.#count(null)) === model.events.size,
      'I13 counts',
      'the list of all events is not whole',
    );
  }

  async #count(state: (typeof STATES)[number] | null): Promise<number> {
    let items = 0;
    let continuationToken: string | null = null;
    do {
      const body: CanonicalOutboxQuery = { state, limit: 3, continuationToken };
      const outcome: Outcome<'queryCanonicalOutbox'> = await this.#ask('queryCanonicalOutbox', {}, body);
      must(outcome.kind === 'answer', 'answer', 'a page of the outbox was refused');
      items += outcome.body.items.length;
      ({ continuationToken } = outcome.body);
    } while (continuationToken !== null);
    return items;
  }

  /** Leases and acknowledges until nothing is left that could be delivered. */
  async #drain(model: CanonicalModel): Promise<void> {
    for (let empty = 0; empty < 2; ) {
      const body = { consumerId: 'auditor', maxItems: 10, leaseSeconds: 3_600 };
      const outcome = await this.#ask('leaseCanonicalOutbox', {}, body);
      must(outcome.kind === 'answer', 'answer', 'a lease call was refused');
      empty = outcome.body.length === 0 ? empty + 1 : 0;
      for (const { event, leaseToken } of outcome.body) {
        const ack = await this.#ask('acknowledgeCanonicalOutbox', { eventId: event.id }, { leaseToken });
        must(ack.kind === 'answer', 'I7 token', `the holder of ${event.id} could not acknowledge it`);
      }
    }
    for (const event of model.events.values()) {
      const { state } = settled(event, this.work.cluster.scheduler.now);
      must(state === 'delivered' || state === 'dead', 'I6 event', `${event.id} can never be delivered`);
    }
  }
}

/** Whether what the clients saw of each document, fence and event is one history; gives the number of histories. */
export function checkHistories(work: Workload): number {
  const histories: ObjectHistories = objectHistories(work.history);
  for (const [name, list] of histories.documents) {
    must(isLinearizable(documentModel, list), 'linearizable', `the document ${name} has no one history`);
  }
  for (const [name, list] of histories.fences) {
    must(isLinearizable(fenceModel, list), 'linearizable', `the fence ${name} has no one history`);
  }
  for (const [name, list] of histories.events) {
    must(isLinearizable(eventModel, list), 'linearizable', `the event ${name} has no one history`);
  }
  return histories.documents.size + histories.fences.size + histories.events.size;
}
