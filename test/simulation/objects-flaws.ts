import type { BlobStore } from '../../functions/blobs/port.ts';
import { OBJECT_LEFTOVERS } from '../../functions/collections/store-collections.ts';
import { OBJECT_SPACES } from '../../functions/collections/upkeep-collections.ts';
import type { RecordData, RecordStore, Write } from '../../functions/store/port.ts';
import { between } from './flaws.ts';
import type { ObjectsFlaw } from './objects-faults.ts';

const as = (record: RecordData): RecordData => record;
const isLeftover = ({ key }: RecordData) => key.collection === OBJECT_LEFTOVERS.name;

function dropped(isDropped: (put: RecordData) => boolean) {
  return between(as, (write: Write) => ('put' in write && isDropped(write.put) ? undefined : write));
}

/** The call answers at once and takes effect with the next one, unless the process dies before. */
function late(call: 'put' | 'remove') {
  return (blobs: BlobStore): BlobStore => {
    let waiting: (() => Promise<void>) | null = null;
    const flush = async () => {
      const next = waiting;
      waiting = null;
      await next?.();
    };
    const bound: BlobStore = new Proxy(blobs, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        const method = member.bind(target) as (...given: unknown[]) => Promise<void>;
        return async (...given: unknown[]) => {
          await flush();
          if (name !== call) return method(...given);
          waiting = () => method(...given);
        };
      },
    });
    return bound;
  };
}

/** A write does not see that upkeep has taken its bytes. */
function blindToDoom(store: RecordStore): RecordStore {
  const shown = between((record) =>
    isLeftover(record) ? { ...record, head: { ...record.head, doomed: false } } : record,
  )(store);
  return {
    ...between(as)(store),
    transact: (scope, request, decide) => shown.transact(scope, request, decide),
  };
}

export const OBJECT_FLAWS: Readonly<Record<string, ObjectsFlaw>> = {
  'no-intent': {
    about: 'no intent comes before the bytes of an upload',
    store: between(as, (write) =>
      'put' in write && isLeftover(write.put) && write.put.head['kind'] === 'upload' ? undefined : write,
    ),
  },
  'nothing-retired': {
    about: 'the bytes that a write replaces are not noted',
    store: dropped(
      (put) => isLeftover(put) && put.head['kind'] === 'replaced' && put.head['doomed'] !== true,
    ),
  },
  'no-mark': {
    about: 'a space with leftovers is not marked',
    store: dropped(({ key }) => key.collection === OBJECT_SPACES.name),
  },
  'mark-forgotten': {
    about: 'upkeep forgets a space that has leftovers',
    store: (store) => ({
      ...between(as)(store),
      due: async () => ({ records: [], next: null }),
    }),
  },
  'no-doom': { about: 'a write names bytes that upkeep is removing', store: blindToDoom },
  'intent-stays': {
    about: 'the intent of an upload stays after its commit',
    store: between(as, (write) =>
      'remove' in write && write.remove.collection === OBJECT_LEFTOVERS.name ? undefined : write,
    ),
  },
  'intent-is-early': {
    about: 'replaced bytes are removed as if they were those of the write',
    store: between(as, (write) =>
      'put' in write && isLeftover(write.put) && write.put.head['kind'] === 'replaced'
        ? { put: { ...write.put, head: { ...write.put.head, reference: write.put.head['ticket'] ?? '' } } }
        : write,
    ),
  },
  'no-ledger': {
    about: 'a second execution of an artifact writes its record again',
    store: dropped((put) => isLeftover(put) && put.head['kind'] === 'done' && put.head['doomed'] !== true),
  },
  'runs-forgotten': { about: 'upkeep takes the bytes of a run that waits', forgetsRuns: true },
  'late-bytes': { about: 'bytes are answered before they are durable', blobs: late('put') },
  'late-removal': { about: 'a removal is answered before it is made', blobs: late('remove') },
};
