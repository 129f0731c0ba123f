import type { CanonicalDocumentRevision } from '../../contracts/generated/models.ts';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import { ARCHIVED_OWNER, ITEM, MARKERS, SLOT } from './eras.ts';
import { LEFT } from './traffic-requests.ts';

/** Contradictions in a copy that was made while writers and restores changed the tenant; none, if it is of one moment. */
export function snapshotFaults(snapshot: TenantSnapshot): string[] {
  return [
    ...revisionFaults(snapshot),
    ...eventFaults(snapshot),
    ...fenceFaults(snapshot),
    ...eraFaults(snapshot),
  ];
}

function revisionsBy(snapshot: TenantSnapshot): Map<string, CanonicalDocumentRevision[]> {
  const lines = Map.groupBy(snapshot.revisions, ({ documentType, id }) => `${documentType}/${id}`);
  for (const line of lines.values()) line.sort((left, right) => left.revision - right.revision);
  return lines;
}

/** Revisions are filed with receipts, and documents by themselves: together they are one line from 1 to the document. */
function revisionFaults(snapshot: TenantSnapshot): string[] {
  const lines = revisionsBy(snapshot);
  const faults: string[] = [];
  for (const document of snapshot.documents) {
    const name = `${document.documentType}/${document.id}`;
    const line = lines.get(name) ?? [];
    lines.delete(name);
    if (line.length !== document.revision || line.some(({ revision }, n) => revision !== n + 1)) {
      faults.push(
        `${name}: revision ${document.revision} of [${line.map(({ revision }) => revision).join()}]`,
      );
    } else if (canonicalJson(line.at(-1)?.document) !== canonicalJson(document)) {
      faults.push(`${name}: is not its last revision`);
    }
  }
  return [...faults, ...[...lines.keys()].map((name) => `${name}: has revisions, but is no document`)];
}

/** Events are kept by themselves too; none of these tenants delivers any. */
function eventFaults({ transactions, outbox }: TenantSnapshot): string[] {
  const written = new Set(transactions.flatMap(({ result }) => result.outbox.map(({ id }) => id)));
  const kept = new Set(outbox.map(({ id }) => id));
  return [
    ...[...written]
      .filter((id) => !kept.has(id))
      .map((id) => `event ${id}: is written by a receipt, and missing`),
    ...[...kept].filter((id) => !written.has(id)).map((id) => `event ${id}: is of no receipt`),
  ];
}

/** Each claim and release of a slot writes the slot's document in the same commit: its revisions are the fence's history. */
function fenceFaults(snapshot: TenantSnapshot): string[] {
  const owners = new Map(
    snapshot.fences.filter(({ name }) => name === SLOT).map((each) => [each.value, each.ownerDocumentId]),
  );
  const faults: string[] = [];
  for (const [name, line] of revisionsBy(snapshot)) {
    if (!name.startsWith(`${SLOT}/`)) continue;
    const slot = name.slice(SLOT.length + 1);
    let owner: unknown;
    for (const { document } of line) {
      const { by, action } = document.data as { readonly by: unknown; readonly action: unknown };
      if (action === 'claim' ? owner !== undefined : owner !== by) {
        faults.push(`slot ${slot}: ${String(action)} by ${String(by)} while it was held by ${String(owner)}`);
      }
      owner = action === 'claim' ? by : undefined;
    }
    const expected =
      owner === undefined ? undefined : owner === 'archive' ? ARCHIVED_OWNER : LEFT(Number(owner));
    if (owners.get(slot) !== expected)
      faults.push(`slot ${slot}: is held by ${owners.get(slot)}, not ${expected}`);
    owners.delete(slot);
  }
  return [
    ...faults,
    ...[...owners].map(([slot, owner]) => `slot ${slot}: is held by ${owner} without a claim`),
  ];
}

function eraFaults({ documents }: TenantSnapshot): string[] {
  const eras = new Set<unknown>();
  let markers = 0;
  for (const { documentType, data } of documents) {
    const era = (data as { readonly era?: number } | null)?.era;
    if (era === undefined) continue;
    eras.add(era);
    if (documentType === ITEM) markers += 1;
  }
  return eras.size === 1 && markers === MARKERS
    ? []
    : [`${markers} markers, and documents of the eras [${[...eras].join()}]`];
}
