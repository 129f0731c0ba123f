import type { CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { RecordData, Scope } from '../../functions/store/port.ts';
import { ArchiveObjects } from './archives.ts';
import type { AnyCall, AnyOutcome } from './canonical-calls.ts';
import type { CanonicalModel, TenantState } from './model.ts';
import { contentHashOf, copied, portraitOfCopy, portraitOfState } from './portraits.ts';
import { checkEvent, resultOf } from './record-checks.ts';
import { must, Violation } from './violation.ts';

export type Copy = CanonicalTenantSnapshot | ArchiveObjects;

/** A copy with its expected content. */
interface Held {
  readonly portrait: string;
  readonly state: TenantState;
}

/**
 * Judges copies: an export against every state that the tenant had while it was made, a restore at the very moment at which
 * it becomes visible.
 */
export class CopyOracle {
  readonly #models: (tenantId: string) => CanonicalModel;
  readonly #reach: (what: string) => void;
  /** By the content hash, which names one content of one tenant. */
  readonly #held = new Map<string, Held>();

  constructor(models: (tenantId: string) => CanonicalModel, reach: (what: string) => void) {
    this.#models = models;
    this.#reach = reach;
  }

  answered(call: AnyCall, outcome: AnyOutcome): void {
    if (outcome.kind === 'failed' || outcome.kind === 'unknown') return;
    if (isExport(call)) {
      must(outcome.kind === 'answer', 'answer', `${call.operation} was refused`);
      this.#exported(call, outcome.body as Copy);
      return;
    }
    const refusal = refusalOf(call);
    if (outcome.kind === 'answer') {
      must(refusal === null, 'I15 restore', `a copy that is to be refused with ${refusal} was taken`);
      must(call.replaced === true, 'I15 restore', 'a restore was answered, and replaced nothing');
    } else {
      const { code } = outcome.error;
      must(code === refusal, 'answer', `${call.operation} refused with ${code}, not ${refusal}`);
      must(call.replaced !== true, 'I15 restore', 'a restore was refused, and replaced the tenant');
    }
  }

  #exported(call: AnyCall, copy: Copy): void {
    const { states } = this.#models(call.params.tenantId);
    const portrait = canonicalJson(portraitOfCopy(copy));
    const candidates = states.slice(call.since ?? 0);
    const state = candidates.find((each) => canonicalJson(portraitOfState(each, call.now)) === portrait);
    must(state !== undefined, 'I14 export', `${call.operation} shows what the tenant never was meanwhile`);
    this.#reach('exported');
    if (candidates.length > 1) this.#reach('exported while others wrote');
    const hash = contentHashOf(copy);
    const known = this.#held.get(hash);
    must(known === undefined || known.portrait === portrait, 'I14 export', `${hash} names two contents`);
    if (known !== undefined) this.#reach('exported twice');
    this.#held.set(hash, known ?? { portrait, state: copied(state, call.now) });
  }

  /** `records`: all that the scope holds from this moment on. */
  replaced(call: AnyCall, scope: Scope, records: readonly Required<Omit<RecordData, 'keptOutside'>>[]): void {
    must(isRestore(call) && scope.name === call.params.tenantId, 'I11 tenant', 'a swap left its tenant');
    must(refusalOf(call) === null, 'I15 restore', 'a copy that is to be refused has replaced the tenant');
    const held = this.#held.get(contentHashOf(copyIn(call)));
    must(held !== undefined, 'I15 restore', 'a copy was restored that no export gave');
    try {
      checkRecords(scope.name, records, held.state);
    } catch (error) {
      if (!(error instanceof Violation) || error.invariant === 'I15 restore') throw error;
      throw new Violation('I15 restore', error.message);
    }
    call.replaced = true;
    this.#models(scope.name).restore(held.state);
    this.#reach('restored');
  }
}

export function isExport({ operation }: AnyCall): boolean {
  return operation === 'exportCanonicalTenant' || operation === 'exportTenantArchive';
}

export function isRestore({ operation }: AnyCall): boolean {
  return operation === 'restoreCanonicalTenant' || operation === 'restoreTenantArchive';
}

function copyIn({ operation, body }: AnyCall): Copy {
  return operation === 'restoreTenantArchive'
    ? (body as { archive: ArchiveObjects }).archive
    : (body as { snapshot: CanonicalTenantSnapshot }).snapshot;
}

/** The code with which the restore must be refused, by the damage that its client did to the copy. */
function refusalOf(call: AnyCall): string | null {
  const copy = copyIn(call);
  const { expectedContentHash = null, spoiledFrom = 0 } = call.body as {
    readonly expectedContentHash?: string | null;
    readonly spoiledFrom?: number;
  };
  const own = copy instanceof ArchiveObjects ? copy.manifest : copy;
  if (own.tenantId !== call.params.tenantId) {
    return copy instanceof ArchiveObjects ? 'content_hash_mismatch' : 'tenant_mismatch';
  }
  const expected = expectedContentHash === null || expectedContentHash === own.contentHash;
  return expected && spoiledFrom === 0 ? null : 'content_hash_mismatch';
}

function checkRecords(
  tenantId: string,
  records: readonly Required<Omit<RecordData, 'keptOutside'>>[],
  { documents, fences, events, receipts }: TenantState,
): void {
  const of = (name: string) => records.filter(({ key }) => key.collection === name);
  const count = (name: string, wanted: number) =>
    must(of(name).length === wanted, 'I15 restore', `${of(name).length} ${name} were restored, of ${wanted}`);
  count('documents', documents.size);
  count('fences', fences.size);
  count('events', events.size);
  count('commits', receipts.size);
  for (const { head, body } of of('documents')) {
    const wanted = documents.get(JSON.stringify([head.documentType, head.id]));
    const { revision, deleted, dataText } = wanted ?? {};
    const same = revision === head.revision && deleted === head.deleted && dataText === body;
    must(same, 'I15 restore', `the document ${head.id} is another one`);
  }
  for (const { head } of of('fences')) {
    const owner = fences.get(JSON.stringify([head.name, head.value]));
    const same = owner === JSON.stringify([head.ownerDocumentType, head.ownerDocumentId]);
    must(same, 'I15 restore', `the fence ${head.value} has another owner`);
  }
  for (const record of of('events')) {
    const wanted = events.get(String(record.head.id));
    must(wanted !== undefined, 'I15 restore', `the event ${record.head.id} was not in the copy`);
    checkEvent({ key: record.key, before: undefined, after: record }, wanted);
  }
  for (const record of of('commits')) {
    const wanted = receipts.get(String(record.head.idempotencyKey))?.result;
    must(wanted === resultOf(tenantId, record), 'I15 restore', 'a receipt holds another result');
  }
}
