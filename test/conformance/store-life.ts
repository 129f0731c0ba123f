import { describe, expect, test } from 'vitest';
import { fullRecord, keyOf, randomScope, read } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

export function describeLife(suite: StoreSuite): void {
  describe('life', () => {
    test('names its provider and answers a ping', async () => {
      expect(suite.store().provider).toMatch(/^[a-z]+$/);
      await expect(suite.store().ping()).resolves.toBeUndefined();
    });

    test('close waits for calls under way', async () => {
      const other = await suite.another();
      const scope = randomScope();
      const key = keyOf('a');
      const write = { put: fullRecord('a') };
      const request = { keys: [{ key }] };
      const underWay = other.transact(scope, request, () => ({ writes: [write], result: 'written' }));
      await other.close();
      await expect(underWay).resolves.toBe('written');
    });

    test('callers on two opened stores do not disturb each other', async () => {
      const other = await suite.another();
      try {
        const scope = randomScope();
        const request = { keys: [{ key: keyOf('a') }] };
        const decide = () => ({ writes: [{ put: fullRecord('a') }], result: null });
        await Promise.all([
          other.transact(scope, request, decide),
          suite.store().transact(scope, request, decide),
        ]);
        expect(await read(other, scope, keyOf('a'))).toBeDefined();
      } finally {
        await other.close();
      }
    });
  });
}
