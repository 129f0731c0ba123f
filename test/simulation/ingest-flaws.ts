import { OBJECT_LEFTOVERS, OBJECTS } from '../../functions/collections/store-collections.ts';
import type { RecordData, Write } from '../../functions/store/port.ts';
import { between } from './flaws.ts';
import type { ObjectsFlaw } from './objects-faults.ts';
import { OBJECT_FLAWS } from './objects-flaws.ts';

const as = (record: RecordData): RecordData => record;
const isLeftover = ({ key }: RecordData) => key.collection === OBJECT_LEFTOVERS.name;
const isHead = ({ key }: RecordData) => key.collection === OBJECTS.name;

function without(isDropped: (put: RecordData) => boolean) {
  return between(as, (write: Write) => ('put' in write && isDropped(write.put) ? undefined : write));
}

/** Bugs that the kills of an ingest must find. */
export const INGEST_FLAWS: Readonly<Record<string, ObjectsFlaw>> = {
  'no-intent': {
    about: 'no intent comes before the bytes of an artifact',
    store: without(
      (put) => isLeftover(put) && put.head['kind'] === 'artifact' && put.head['doomed'] !== true,
    ),
  },
  'no-head': { about: 'the record is written without its object', store: without(isHead) },
  ...Object.fromEntries(
    ['no-mark', 'mark-forgotten', 'no-ledger', 'runs-forgotten', 'late-bytes', 'late-removal'].flatMap(
      (name) => {
        const flaw = OBJECT_FLAWS[name];
        return flaw === undefined ? [] : [[name, flaw] as const];
      },
    ),
  ),
};
