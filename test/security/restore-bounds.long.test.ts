import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import type { CanonicalDocument, CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { compose } from '../../functions/compose/compose.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { patienceMs } from '../support/effort.ts';
import { type RunningService, startService } from '../support/service.ts';
import { CopiedTenant } from './copied-tenant.ts';
import { contentOf, emptySnapshot, resealed } from './seal.ts';

vi.setConfig({ testTimeout: patienceMs });

const MEBIBYTE = 1_048_576;
const services: RunningService[] = [];
let service: RunningService;
/** A service on a platform with a small limit for bodies. */
let small: RunningService;
beforeAll(async () => {
  service = await startService();
  small = await startService({ settings: { 'Server:MessageBytesMax': String(MEBIBYTE) } });
  services.push(service, small);
});
afterAll(() => Promise.all(services.map((each) => each.close())));

function expectTooLarge(answer: InjectedResponse, advice: string): void {
  expect(answer.json()).toMatchObject({ status: 413, code: 'snapshot_too_large' });
  expect(answer.json<{ detail: string }>().detail).toContain(`svc ${advice}`);
}

const nested = (levels: number): object => {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
};

/** A snapshot of documents that were written once, each by a commit of its own. */
function snapshotOf(tenantId: string, contents: readonly object[]): CanonicalTenantSnapshot {
  const moment = '2026-01-02T03:04:05.000Z';
  const made = { revision: 1, etag: 'rev:1', deleted: false, createdAtUtc: moment, updatedAtUtc: moment };
  const written = contents.map((content, n) => {
    const name = { tenantId, documentType: 'claim', id: `${n}`, schemaVersion: '1' };
    const document = { ...name, data: content as CanonicalDocument['data'], indexes: {}, ...made };
    const idempotencyKey = `k${n}`;
    const transactionId = `ctx_${sha256(`${tenantId}\n${idempotencyKey}`).slice(7, 39)}`;
    const shared = { transactionId, tenantId, idempotencyKey, committedAtUtc: moment };
    const result = {
      ...shared,
      correlationId: null,
      actor: null,
      replayed: false,
      documents: [document],
      outbox: [],
    };
    const receipt = { ...shared, requestHash: sha256(idempotencyKey), result };
    const { documentType, id } = name;
    const revision = { tenantId, documentType, id, revision: 1, transactionId, operation: 'upsert' as const };
    return { document, receipt, revision: { ...revision, document, recordedAtUtc: moment } };
  });
  return resealed({
    ...emptySnapshot(tenantId),
    documents: written.map(({ document }) => document),
    revisions: written.map(({ revision }) => revision),
    transactions: written.map(({ receipt }) => receipt),
  });
}

describe('G01: nesting', () => {
  test('every body that can be committed can be exported and restored', async () => {
    const tenant = new CopiedTenant(service);
    const commit = (levels: number) => {
      const mutations = [tenant.upsert('d', nested(levels))];
      const outbox = [{ topic: 't', key: 'k', payload: nested(levels) }];
      return tenant.post('transactions', { idempotencyKey: `${levels}`, mutations, outbox });
    };
    let deepest = limits.jsonDepthMax;
    while ((await commit(deepest)).status !== 200) deepest -= 1;
    expect(deepest).toBeGreaterThan(limits.jsonDepthMax - 8);
    const snapshot = await tenant.snapshot();
    expect((await tenant.restore(emptySnapshot(tenant.id))).status).toBe(204);
    expect((await tenant.restore(snapshot)).status).toBe(204);
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });

  test('a body is as deep as it may be, and no deeper', async () => {
    const tenant = new CopiedTenant(service);
    // In a receipt seven levels stand around the data, from the body to the document.
    const restored = async (levels: number) => tenant.restore(snapshotOf(tenant.id, [nested(levels - 7)]));
    expect((await restored(limits.restoreJsonDepthMax)).status).toBe(204);
    const hash = await tenant.hash();
    const refused = await restored(limits.restoreJsonDepthMax + 1);
    expect(refused.status, refused.body).toBe(400);
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const body = `{"snapshot":${open.repeat(200_000)}0${close.repeat(200_000)}}`;
      expect((await tenant.post('restore', body)).status).toBe(400);
    }
    expect(await tenant.hash()).toBe(hash);
  });
});

describe('G02: more than there may be', () => {
  const lists = ['documents', 'revisions', 'fences', 'outbox', 'transactions'] as const;

  test.each(lists)('%s: a list of more than a million is refused as that', async (list) => {
    const tenant = new CopiedTenant(service);
    const pointerOf = async (count: number) => {
      const items = `[${'0,'.repeat(count - 1)}0]`;
      const text = JSON.stringify({ snapshot: { ...emptySnapshot(tenant.id), [list]: 'here' } });
      const answer = await tenant.post('restore', text.replace('"here"', items));
      const { status, errors } = answer.json<{ status: number; errors: { pointer: string }[] }>();
      return [status, errors[0]?.pointer];
    };
    expect(await pointerOf(1_000_001)).toEqual([400, `/snapshot/${list}`]);
    // The service examines each of them, up to the highest allowed number.
    expect(await pointerOf(1_000_000)).toEqual([400, `/snapshot/${list}/0`]);
  });
});

describe('F04: a body that is larger than the platform carries', () => {
  test('an export and a restore of exactly so much pass, and of one byte more do not', async () => {
    const tenant = new CopiedTenant(small);
    const fence = (value: string) => ({ name: 'n', value, ownerDocumentType: 't', ownerDocumentId: 'i' });
    await tenant.commit('base', { fences: [fence('base')] });
    const empty = await tenant.snapshot();
    /** Content of three bytes for each of `thirds`, and one for each of `ones`: a fence stands in no receipt. */
    const exported = async (thirds: number, ones: number) => {
      expect((await tenant.restore(empty)).status).toBe(204);
      await tenant.commit('content', {
        mutations: [tenant.upsert('d', { filler: 'x'.repeat(thirds) })],
        fences: [fence('y'.repeat(ones))],
      });
      return tenant.export();
    };
    const least = Buffer.byteLength((await exported(1, 1)).body);
    const thirds = Math.floor((MEBIBYTE - least - 100) / 3);
    const ones = MEBIBYTE - least - thirds * 3;
    const most = await exported(thirds + 1, ones + 1);
    expect([most.status, Buffer.byteLength(most.body)]).toEqual([200, MEBIBYTE]);
    expectTooLarge(await exported(thirds + 1, ones + 2), 'canonical-archive-export');

    const body = JSON.stringify({ snapshot: empty });
    const padded = (bytes: number) => tenant.post('restore', body.padEnd(bytes));
    expect((await padded(MEBIBYTE)).status).toBe(204);
    expectTooLarge(await padded(MEBIBYTE + 1), 'canonical-archive-restore');
    expect(await tenant.hash()).toBe(empty.contentHash);
  });

  describe('the bytes themselves', () => {
    const own: { close(): Promise<void> }[] = [];
    afterAll(() => Promise.all(own.map((each) => each.close())));

    /** The service as its host calls it, beside the one that is injected into. */
    async function chainOf(of: RunningService): Promise<Chain> {
      const composed = compose(of.settings, { writeLog: (line) => void of.lines.push(line) });
      own.push(composed);
      return composed.chain(composed.groups);
    }

    async function send(chain: Chain, framing: readonly string[], body: AsyncIterable<Uint8Array>) {
      const asked = vi.fn();
      const answer = await chain({
        method: 'POST',
        target: '/canonical/tenants/acme/restore',
        httpVersion: '1.1',
        rawHeaders: ['Host', 'localhost', 'Content-Type', 'application/json', ...framing],
        socketAddress: '127.0.0.1',
        body,
        proceed: asked,
        signal: new AbortController().signal,
      });
      const { code, detail } = JSON.parse(answer.body as string) as { code: string; detail: string };
      return { status: answer.status, code, detail, close: answer.close, asked: asked.mock.calls.length };
    }

    test.each([
      ['as the contract bounds it', () => service, limits.restoreBodyBytesMax],
      ['as the platform bounds it', () => small, MEBIBYTE],
    ])('%s: refused by its declared length, and nothing of it is read', async (_, of, most) => {
      let read = 0;
      const body = (async function* () {
        read += 1;
        yield Buffer.from('{');
      })();
      const chain = await chainOf(of());
      const answer = await send(chain, ['Content-Length', String(most + 1)], body);
      expect(answer).toMatchObject({ status: 413, code: 'snapshot_too_large', close: true, asked: 0 });
      expect(answer.detail).toContain('svc canonical-archive-restore');
      expect(read).toBe(0);
      // With one byte less the service reads the body.
      const fitting = await send(chain, ['Content-Length', String(most)], body);
      expect([fitting.status, fitting.code, fitting.asked]).toEqual([400, 'malformed_request', 1]);
      expect(read).toBe(1);
    });

    test('without a length it is read up to the bound', async () => {
      let sent = 0;
      const body = (async function* () {
        for (;;) {
          sent += 65_536;
          yield Buffer.alloc(65_536, ' ');
        }
      })();
      const answer = await send(await chainOf(small), ['Transfer-Encoding', 'chunked'], body);
      expect(answer).toMatchObject({ status: 413, code: 'snapshot_too_large', close: true });
      expect(sent).toBe(MEBIBYTE + 65_536);
    });
  });
});

test('M09: 64 MiB of content are restored and exported, and one byte more is not', async () => {
  const tenant = new CopiedTenant(service);
  // Every byte of data is stored twice: in the document, and in the revision that its receipt holds.
  const sealed = (length: number, last: number) => {
    const fillers = [...Array.from({ length: 37 }, () => 890_000), length];
    const fence = { name: 'n', value: 'x'.repeat(last), ownerDocumentType: 't', ownerDocumentId: 'i' };
    const moments = { createdAtUtc: '2026-01-02T03:04:05.000Z', updatedAtUtc: '2026-01-02T03:04:05.000Z' };
    const snapshot = snapshotOf(
      tenant.id,
      fillers.map((count) => ({ filler: 'x'.repeat(count) })),
    );
    return resealed({ ...snapshot, fences: [{ tenantId: tenant.id, ...fence, ...moments }] });
  };
  const rest = limits.snapshotBytesMax - Buffer.byteLength(contentOf(sealed(0, 1)));
  const most = sealed(rest >> 1, 1 + (rest & 1));
  const more = sealed(rest >> 1, 2 + (rest & 1));
  expect([most, more].map((each) => Buffer.byteLength(contentOf(each)) - limits.snapshotBytesMax)).toEqual([
    0, 1,
  ]);
  expect((await tenant.restore(most)).status).toBe(204);
  // The maker of such a snapshot still has the tenant, and the refusal names the archive as the way.
  expectTooLarge(await tenant.restore(more), 'canonical-archive-export');
  const answer = await tenant.export();
  expect(answer.status).toBe(200);
  expect(answer.json<CanonicalTenantSnapshot>().contentHash).toBe(most.contentHash);
  await tenant.commit('one more', { outbox: [{ topic: 't', key: 'k' }] });
  expectTooLarge(await tenant.export(), 'canonical-archive-export');
});
