import { describe, expect, test, vi } from 'vitest';
import { BlobError } from '../../blobs/port.ts';
import type { PayloadPlace } from '../../collections/payload-place.ts';
import { StoreError } from '../../store/port.ts';
import { objectsCheck } from './objects-check.ts';

const REFERENCE = 'readiness-0001';

/** A place in memory that counts its calls, and whose calls fail as the test says. */
function probing(fault: Partial<PayloadPlace> = {}, development = false) {
  const kept = new Map<string, Uint8Array>();
  const calls: string[] = [];
  const sound: PayloadPlace = {
    put: async (reference, bytes) => void kept.set(reference, bytes),
    get: async (reference) => kept.get(reference) ?? null,
    remove: async (reference) => void kept.delete(reference),
  };
  const faulty = { ...sound, ...fault };
  const place: PayloadPlace = {
    put: (...given) => (calls.push('put'), faulty.put(...given)),
    get: (...given) => (calls.push('get'), faulty.get(...given)),
    remove: (...given) => (calls.push('remove'), faulty.remove(...given)),
  };
  const late: (() => void)[] = [];
  const check = objectsCheck({
    world: { timers: { after: (_, callback) => (late.push(callback), () => {}) } },
    development,
    objects: { store: 'files', place: async () => place, reference: REFERENCE, everyMs: 30_000 },
  });
  return { check, calls, kept, late, place: faulty };
}

describe('the readiness of objects', () => {
  test('one probe serves all readers of half a minute, and nothing stays', async () => {
    const { check, calls, kept } = probing();
    const ok = {
      id: 'storage.objects',
      status: 'ok',
      message: 'The store of objects writes, reads and deletes.',
      details: { enabled: true, store: 'files', probe: 'write_read_delete' },
    };
    expect(await Promise.all([check(0), check(1), check(29_999)])).toEqual([[ok], [ok], [ok]]);
    expect(calls).toEqual(['put', 'get', 'remove']);
    expect(kept.size).toBe(0);
    expect(await check(30_000)).toEqual([ok]);
    expect(calls).toHaveLength(6);
  });

  test.each<[string, Partial<PayloadPlace>, string]>([
    [
      'a write fails',
      { put: async () => Promise.reject(new StoreError('unavailable', 'gone')) },
      'does not write',
    ],
    ['there is no room', { put: async () => Promise.reject(new StoreError('full', 'full')) }, 'has no room'],
    ['nothing is read', { get: async () => null }, 'does not write, read and delete'],
    ['other bytes are read', { get: async () => Buffer.from('other') }, 'does not write, read and delete'],
    [
      'a deletion fails',
      { remove: async () => Promise.reject(new BlobError('unavailable', 'no')) },
      'delete',
    ],
  ])('is not ready where %s', async (_, fault, message) => {
    const [found] = await probing(fault).check(0);
    expect(found).toMatchObject({ status: 'failed', message: expect.stringContaining(message) });
  });

  test('only Development says why', async () => {
    const fault = { put: async () => Promise.reject(new Error('no such bucket')) };
    for (const development of [true, false]) {
      const found = await probing(fault, development).check(0);
      expect(JSON.stringify(found).includes('no such bucket')).toBe(development);
    }
  });

  test('a place that hangs is not asked again beside the call that hangs', async () => {
    const { check, calls, late } = probing({ put: () => new Promise(() => {}) });
    const first = check(0);
    for (const callback of late) callback();
    expect(await first).toMatchObject([{ status: 'failed' }]);
    expect(await check(60_000)).toMatchObject([{ status: 'failed' }]);
    expect(calls.filter((call) => call === 'put')).toHaveLength(1);
  });

  test('a call that hangs expires, and a place that is well again is found so', async () => {
    let hangs = true;
    const settled: (() => void)[] = [];
    const { check, calls, late } = probing({
      put: () => (hangs ? new Promise((done) => settled.push(done)) : Promise.resolve()),
      get: async () => Buffer.from('svc readiness probe'),
    });
    const first = check(0);
    for (const callback of late) callback();
    expect(await first).toMatchObject([{ status: 'failed' }]);
    const puts = () => calls.filter((call) => call === 'put').length;
    await check(299_999);
    expect(puts()).toBe(1);
    const second = check(300_000);
    for (const callback of late) callback();
    expect(await second).toMatchObject([{ status: 'failed' }]);
    expect(puts()).toBe(2);
    // The first call, which has expired, does not end the second one.
    settled[0]?.();
    await vi.waitFor(() => expect(calls.at(-1)).toBe('remove'));
    await check(330_000);
    expect(puts()).toBe(2);
    hangs = false;
    expect(await check(600_000)).toMatchObject([{ status: 'ok' }]);
  });

  test('the first error is the reason, also where the removal fails', async () => {
    const fault = {
      get: async () => Promise.reject(new Error('cannot read')),
      remove: async () => Promise.reject(new Error('cannot remove')),
    };
    const [found] = await probing(fault, true).check(0);
    expect(found).toMatchObject({ details: { reason: 'cannot read' } });
  });

  test('a probe that a killed process left is replaced, and removed at the end', async () => {
    const { check, kept, place } = probing();
    kept.set(REFERENCE, Buffer.from('svc readiness probe'));
    place.put = async (reference, bytes) => {
      if (kept.has(reference)) throw new Error('it is there already');
      kept.set(reference, bytes);
    };
    expect(await check(0)).toMatchObject([{ status: 'ok' }]);
    expect(kept.size).toBe(0);
  });

  test('a probe that another process of the same name removes is written again', async () => {
    let removals = 2;
    const { check, calls, kept, place } = probing();
    place.get = async (reference) => {
      if (removals > 0) kept.delete(reference);
      removals -= 1;
      return kept.get(reference) ?? null;
    };
    expect(await check(0)).toMatchObject([{ status: 'ok' }]);
    expect(calls.filter((call) => call === 'put')).toHaveLength(3);
  });
});
