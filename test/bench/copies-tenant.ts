import type { CanonicalDocument, CanonicalOutboxEvent } from '../../contracts/generated/models.ts';
import { transactionId } from '../../functions/groups/canonical/commit/commit-request.ts';
import {
  recordOf,
  type SnapshotValue,
} from '../../functions/groups/canonical/copies/snapshot/record-values.ts';
import { formatUtc } from '../../functions/kernel/timestamp.ts';
import type { RecordData } from '../../functions/store/port.ts';

/** Claims that are worked on at the same time; a document is written where its last commit stands. */
const OPEN_CLAIMS = 100;
const FIRST_COMMIT = Date.UTC(2026, 0, 1);
const WORDS =
  'policy claim damage water garage roof invoice estimate witness report settled reserve excess repair engineer police photo letter reply insured third party vehicle bumper boiler kitchen floor storm hail branch neighbour tenant owner payment bank transfer approved declined pending review surveyor appointment street morning evening before after because while without agreed noted'.split(
    ' ',
  );

interface Claim {
  readonly number: number;
  readonly commits: number;
  readonly createdAtUtc: string;
  document: CanonicalDocument | null;
  revision: number;
}

/**
 * The records of a tenant in the order in which commits would have made them, about `bytes` of lines: claims of 1 to 8 kB,
 * each written two to four times, every write with its receipt and revision; a fence a claim and an event a commit, most of
 * them delivered. One seed gives one tenant. The record builders are those of the snapshot format.
 */
export function* tenantRecords(tenantId: string, bytes: number, seed = 1): Generator<RecordData> {
  const random = randomOf(seed);
  const open: Claim[] = [];
  let claims = 0;
  let made = 0;
  for (let commit = 0; ; commit++) {
    const atUtc = formatUtc(FIRST_COMMIT + commit * 50);
    if (made < bytes) {
      const missing = OPEN_CLAIMS - open.length;
      for (let n = 0; n < missing; n++) open.push(newClaim(claims++, atUtc, random));
    }
    const at = random(open.length);
    const claim = open[at];
    if (claim === undefined) return;
    const entries = [...commitOf(tenantId, claim, commit, atUtc, random)];
    if (claim.revision === claim.commits && claim.document !== null) {
      entries.push({ collection: 'documents', value: claim.document });
      open.splice(at, 1);
    }
    for (const record of entries.map(recordOf)) {
      made += lengthOf(record);
      yield record;
    }
  }
}

function newClaim(number: number, createdAtUtc: string, random: Random): Claim {
  return { number, commits: 2 + random(3), createdAtUtc, document: null, revision: 0 };
}

type Random = (below: number) => number;

function* commitOf(
  tenantId: string,
  claim: Claim,
  commit: number,
  atUtc: string,
  random: Random,
): Generator<SnapshotValue> {
  const idempotencyKey = `claim-${claim.number}-${claim.revision}-${commit}`;
  const named = { tenantId, idempotencyKey, correlationId: `request-${commit}`, actor: 'claims-api' };
  const id = transactionId({ ...named, mutations: [], fences: [], outbox: [] });
  claim.revision += 1;
  claim.document = documentOf(tenantId, claim, atUtc, random);
  const written = eventOf(tenantId, claim, `${id}:000`, id, random);
  const result = {
    transactionId: id,
    ...named,
    replayed: false,
    committedAtUtc: atUtc,
    documents: [claim.document],
    outbox: [written],
  };
  const requestHash = `sha256:${hex(64, random)}`;
  const receipt = { transactionId: id, tenantId, idempotencyKey, requestHash, result, committedAtUtc: atUtc };
  yield { collection: 'commits', value: receipt };
  const delivered = random(10) < 8 ? { deliveryCount: 1, deliveredAtUtc: atUtc } : {};
  yield { collection: 'events', value: { ...written, ...delivered, createdAtUtc: atUtc } };
  if (claim.revision > 1) return;
  const owner = { ownerDocumentType: 'claim', ownerDocumentId: claim.document.id };
  const times = { createdAtUtc: atUtc, updatedAtUtc: atUtc };
  yield {
    collection: 'fences',
    value: { tenantId, name: 'claim-number', value: `C-${claim.number}`, ...owner, ...times },
  };
}

/** Every fiftieth claim ends as a tombstone. */
function documentOf(tenantId: string, claim: Claim, atUtc: string, random: Random): CanonicalDocument {
  const { number, revision, createdAtUtc } = claim;
  const deleted = revision === claim.commits && number % 50 === 0;
  const status = ['reported', 'assessed', 'approved', 'paid'][revision - 1] ?? 'closed';
  const policy = `P-${random(1_000_000)}`;
  const data = {
    status,
    policy,
    amountCents: random(10_000_000),
    insured: { name: words(2, random), street: words(2, random), postcode: String(10_000 + random(90_000)) },
    reference: hex(32, random),
    lines: Array.from({ length: 2 + random(6) }, (_, n) => ({
      position: n + 1,
      what: words(4, random),
      netCents: random(500_000),
      share: random(1000) / 1000,
    })),
    notes: Array.from({ length: 2 + random(14) }, () => ({
      at: atUtc,
      text: words(15 + random(80), random),
    })),
  };
  return {
    tenantId,
    documentType: 'claim',
    id: `claim-${number}`,
    schemaVersion: '3',
    data: deleted ? null : data,
    indexes: deleted ? {} : { policy, status, updatedAt: atUtc },
    revision,
    etag: `rev:${revision}`,
    deleted,
    createdAtUtc,
    updatedAtUtc: atUtc,
  };
}

function eventOf(
  tenantId: string,
  claim: Claim,
  id: string,
  transaction: string,
  random: Random,
): CanonicalOutboxEvent {
  return {
    id,
    tenantId,
    transactionId: transaction,
    topic: 'claim.changed',
    key: `claim-${claim.number}`,
    payload: {
      claim: `claim-${claim.number}`,
      revision: claim.revision,
      summary: words(8 + random(30), random),
    },
    headers: { 'trace-id': hex(32, random) },
    notBeforeUtc: null,
    deliveryCount: 0,
    deliveredAtUtc: null,
    leaseOwner: null,
    leaseExpiresAtUtc: null,
    maxDeliveryAttempts: 10,
    deadLetteredAtUtc: null,
    lastError: null,
  };
}

function lengthOf({ head, body, parts = [] }: RecordData): number {
  // About what a line says beside body and parts.
  const around = 160 + 30 * Object.keys(head).length;
  return parts.reduce((sum, part) => sum + part.body.length, around + (body?.length ?? 0));
}

function words(count: number, random: Random): string {
  let text = '';
  for (let n = 0; n < count; n++) text += `${n === 0 ? '' : ' '}${WORDS[random(WORDS.length)]}`;
  return text;
}

function hex(digits: number, random: Random): string {
  let text = '';
  for (let n = 0; n < digits; n += 4) text += random(65_536).toString(16).padStart(4, '0');
  return text;
}

/** Whole numbers from 0, the same for one seed (mulberry32). */
function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
