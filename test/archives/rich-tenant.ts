import type {
  CanonicalFenceMutation,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
  JsonObject,
} from '../../contracts/generated/models.ts';
import type { Commit, TenantClient } from '../support/canonical.ts';

/** A tenant with something of everything that operations can leave behind, made by nothing but operations. */

interface Sent {
  readonly request: CanonicalTransactionRequest;
  readonly result: CanonicalTransactionResult;
}

export interface RichTenant {
  /** Every commit, in its order. */
  readonly sent: readonly Sent[];
  /** Event id → the last token that was given for it. */
  readonly tokens: ReadonlyMap<string, string>;
}

/** The ids of its events, by their state once the tenant is made and before any restore. */
export const EVENTS = {
  leased: ['leased', 'renewed'],
  delivered: ['delivered'],
  deadLetter: ['refused', 'expired-last'],
  scheduled: ['later', 'released'],
  /** Leased once, but for the last two. */
  ready: ['expired', 'replayed', 'replayed-anew', 'large-0', 'large-1', 'bare'],
} as const;

export const LATER = '2026-03-01T00:00:00.000Z';
export const MANY_REVISIONS = 12;

/** Where UTF-16 and UTF-8 disagree, where a collation folds, and what a database might take for its own. */
const NAMES = [
  'a',
  'A',
  'ä',
  'a\u0308',
  'ß',
  'ss',
  '漢字',
  '\uffee',
  '\u{1f600}',
  '\u{10fffd}',
  'a/b',
  'a b',
  '__name__',
  '~',
  '%2F',
  "o'clock; --",
] as const;

const LONG_INDEX = `${'\u{1f600}'.repeat(224)}.end`;

class Maker {
  readonly sent: Sent[] = [];
  readonly tokens = new Map<string, string>();
  readonly client: TenantClient;

  constructor(client: TenantClient) {
    this.client = client;
  }

  async commit(idempotencyKey: string, request: Commit): Promise<void> {
    const { tenantId } = this.client;
    const whole = { tenantId, idempotencyKey, ...request } as CanonicalTransactionRequest;
    this.sent.push({ request: whole, result: await this.client.commit(whole) });
    this.client.advance(1_000);
  }

  /** Leases the one event that is due. */
  async lease(id: string, leaseSeconds: number): Promise<string> {
    const [lease, ...more] = await this.client.lease({ maxItems: 2, leaseSeconds });
    if (lease?.event.id !== id || more.length > 0) throw new Error(`${id} is not the one that is due`);
    this.tokens.set(id, lease.leaseToken);
    this.client.advance(1_000);
    return lease.leaseToken;
  }
}

export async function makeRichTenant(client: TenantClient): Promise<RichTenant> {
  const maker = new Maker(client);
  await makeDocuments(maker);
  await makeFences(maker);
  await makeEvents(maker);
  await makeLarge(maker);
  return { sent: maker.sent, tokens: maker.tokens };
}

async function makeDocuments(maker: Maker): Promise<void> {
  const { client } = maker;
  await maker.commit('named', {
    correlationId: 'correlation-ü',
    actor: 'somebody \u{1f642}',
    mutations: NAMES.map((id, n) =>
      client.upsert(
        id,
        { text: `${id} <&>"\\\u2028`, n, nested: { z: [null, true, 1.5e-7], a: {} } },
        {
          documentType: n % 3 === 0 ? 'тип/\u{1d49c}' : 'claim',
          schemaVersion: `v${n}`,
          indexes: { title: id, parity: n % 2 === 0 ? 'even' : 'odd', '__i__~': `${id} `, long: LONG_INDEX },
        },
      ),
    ),
  });
  for (let n = 1; n <= MANY_REVISIONS; n++) {
    const data: JsonObject = { n, word: 'ü'.repeat(n) };
    const precondition = n === 1 ? { mustNotExist: true } : { expectedRevision: n - 1 };
    await maker.commit(`many \u{1f511}/${n}`, {
      mutations: [client.upsert('many', data, { indexes: { n: String(n).padStart(4, '0') }, precondition })],
    });
  }
  await maker.commit('two', {
    mutations: [client.upsert('gone', { n: 1 }, { indexes: { title: 'gone' } }), client.upsert('back')],
  });
  await maker.commit('delete', { mutations: [client.remove('gone'), client.remove('back')] });
  await maker.commit('back', { mutations: [client.upsert('back', { again: '再' })] });
}

function fence(operation: 'claim' | 'release', value: string, owner: string): CanonicalFenceMutation {
  return { operation, name: 'nummer ä', value, ownerDocumentType: 'claim', ownerDocumentId: owner };
}

async function makeFences(maker: Maker): Promise<void> {
  // No documents: of nothing but fences a commit may consist as well.
  await maker.commit('claim', { fences: NAMES.map((name) => fence('claim', name, 'many')) });
  await maker.commit('release', { fences: [fence('release', 'a', 'many'), fence('release', 'A', 'many')] });
  await maker.commit('claim again', { fences: [fence('claim', 'A', 'back')] });
}

const DAY_SECONDS = 86_400;

/** One after the other, so that a lease call meets the one that is meant. */
async function makeEvents(maker: Maker): Promise<void> {
  const { client } = maker;
  const add = (id: string, maxDeliveryAttempts: number | null = null) =>
    maker.commit(`event ${id}`, {
      outbox: [{ id, topic: `topic ${id}`, key: 'ключ', payload: { id }, maxDeliveryAttempts }],
    });
  for (const id of EVENTS.leased) await add(id).then(() => maker.lease(id, DAY_SECONDS));
  await client.renew('renewed', { leaseToken: maker.tokens.get('renewed') ?? '', leaseSeconds: 80_000 });
  await add('delivered').then(() => maker.lease('delivered', 60));
  await client.ack('delivered', maker.tokens.get('delivered') ?? '');
  const release = async (id: string, most: number | null) => {
    await add(id, most);
    const leaseToken = await maker.lease(id, 60);
    const retryAfterSeconds = most === null ? DAY_SECONDS : 1;
    await client.release(id, { leaseToken, error: `no\nluck \u{1f622} ${id}`, retryAfterSeconds });
  };
  await release('refused', 1);
  await release('released', null);
  for (const id of ['replayed', 'replayed-anew']) await release(id, 1);
  await add('expired-last', 1).then(() => maker.lease('expired-last', 5));
  await add('expired').then(() => maker.lease('expired', 5));
  await maker.commit('event later', {
    outbox: [{ id: 'later', topic: 't', key: 'k', notBeforeUtc: LATER, headers: { 'x-ü': 'ö' } }],
  });
  client.advance(5_000);
  for (const id of ['replayed', 'replayed-anew']) await client.replay(id, id === 'replayed-anew');
}

/** Adds the values that providers store separately: bodies above 64 KiB, payloads that a receipt cannot hold, and results of many parts. */
async function makeLarge(maker: Maker): Promise<void> {
  const { client } = maker;
  const text = (length: number) => '中\u{1f600}é '.repeat(length / 8);
  await maker.commit('large', {
    mutations: [
      client.upsert('large', { text: text(70_000) }, { documentType: 'large', indexes: { size: '70' } }),
      client.upsert('larger', { text: 'x'.repeat(300_000) }, { documentType: 'large' }),
    ],
    outbox: [0, 1].map((n) => ({
      id: `large-${n}`,
      topic: 'large',
      key: `${n}`,
      payload: { text: text(250_000) },
    })),
  });
  await maker.commit('wide', {
    mutations: Array.from({ length: 16 }, (_, n) =>
      client.upsert(
        `wide ${n}`,
        { n, text: text(800) },
        { documentType: 'wide', indexes: { n: `${n % 7}` } },
      ),
    ),
    outbox: [{ id: 'bare', topic: 'wide', key: 'k' }],
  });
  await maker.commit('wide, in part deleted', {
    mutations: Array.from({ length: 5 }, (_, n) => client.remove(`wide ${n}`, null, 'wide')),
  });
}
