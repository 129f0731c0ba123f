import { describe, expect, test } from 'vitest';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';
import { DEEDS, type Flaw, interleaveChildren } from './children-interleavings.ts';

const names = Object.keys(DEEDS);
const pairs = names.flatMap((left, at) => names.slice(at + 1).map((right) => [left, right] as const));

describe('a parent learns how its child ended, at every interleaving', () => {
  test.each(pairs)('%s, and %s', async (...pair) => {
    expect(await interleaveChildren(pair)).toBeGreaterThanOrEqual(2);
  });

  test('and of three', async () => {
    const three = ['the parent waits', 'the child ends', 'the parent is cancelled'];
    expect(await interleaveChildren(three)).toBeGreaterThan(10);
  });
});

/** Makes the writes of each transaction, but for those that the bug forgets. */
function forgets(forgotten: (write: Write) => boolean): Flaw {
  return (store) => {
    const transact: RecordStore['transact'] = (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...decision } = decide(found);
        return { ...decision, writes: writes.filter((write) => !forgotten(write)) };
      });
    return patched(store, { transact });
  };
}

const isLink = (write: Write, head: object) =>
  'put' in write &&
  write.put.key.collection === 'children' &&
  Object.entries(head).every(([name, value]) => write.put.head[name] === value);

describe('a planted bug is found', () => {
  const rivals = ['the parent waits', 'the child ends'];

  test('a wait that leaves no mark in the link', async () => {
    const flaw = forgets((write) => isLink(write, { waited: true, ended: false }));
    await expect(interleaveChildren(rivals, flaw)).rejects.toThrow();
  });

  test('an end that leaves no outcome in the link', async () => {
    const flaw = forgets((write) => isLink(write, { ended: true }));
    await expect(interleaveChildren(rivals, flaw)).rejects.toThrow('knows undefined');
  });

  test('a transaction that sets no condition on the link', async () => {
    const flaw: Flaw = (store) => {
      const transact: RecordStore['transact'] = async (scope, request, decide) => {
        const links = request.keys.filter(({ key }) => key.collection === 'children');
        const { records } = await store.query(scope, {
          by: 'keys',
          keys: links.map((each) => ({ ...each, view: 'body' })),
        });
        return store.transact(scope, request, (found) =>
          decide({
            get: (key) =>
              key.collection === 'children' ? records.find((each) => each.key.id === key.id) : found.get(key),
          }),
        );
      };
      return patched(store, { transact });
    };
    await expect(interleaveChildren(rivals, flaw)).rejects.toThrow();
  });
});
