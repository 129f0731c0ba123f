import { HandlerRegistry, type RegisteredHandler } from '../../functions/runs/handler-registry.ts';
import { COUNTERS, readRun, runRecord } from '../../functions/runs/records.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { IMPORTS } from '../notes/group/records.ts';
import { type ExecutionFlaw, STORE_FLAWS } from './execution-store-flaws.ts';
import { between, type Show } from './flaws.ts';

/** A bug planted on purpose, also in the registry of handlers. */
export interface JobsFlaw extends ExecutionFlaw {
  readonly registry?: typeof HandlerRegistry;
}

const as: Show = (record) => record;

function mended(mend: (put: Extract<Write, { put: unknown }>['put']) => Write | undefined) {
  return (write: Write) => ('put' in write ? mend(write.put) : write);
}

function dropped(collection: string) {
  return mended((put) => (put.key.collection === collection ? undefined : { put }));
}

/** Callers start the handlers of the service as any other. */
class OpenRegistry extends HandlerRegistry {
  override startable(handlerId: string): RegisteredHandler | undefined {
    return this.get(handlerId);
  }
}

/** The counters say that nothing is active, and still count. */
const withoutCeiling = between(
  (record) => (record.key.collection === COUNTERS.name ? { ...record, head: { active: 0 } } : record),
  (write, found) => {
    if (!('put' in write) || write.put.key.collection !== COUNTERS.name) return write;
    const before = Number(found.get(write.put.key)?.head['active'] ?? 0);
    return {
      put: { ...write.put, head: { active: write.put.head['active'] === 1 ? before + 1 : before - 1 } },
    };
  },
);

/** A counter never goes down. */
const withoutEnd = between(as, (write, found) => {
  if ('remove' in write) return write.remove.collection === COUNTERS.name ? undefined : write;
  if (write.put.key.collection !== COUNTERS.name) return write;
  const before = Number(found.get(write.put.key)?.head['active'] ?? 0);
  return Number(write.put.head['active']) < before ? undefined : write;
});

/** Every job is written into one space. */
const oneSpace = between(
  as,
  mended((put) => {
    if (put.key.collection !== 'runs' || typeof put.body !== 'string') return { put };
    const run = readRun(put);
    return run.job === undefined
      ? { put }
      : { put: runRecord({ ...run, job: { ...run.job, space: 'space-b' } }) };
  }),
);

/** The run of a job is stored as any other. */
const plainRun = between(
  as,
  mended((put) => {
    if (put.key.collection !== 'runs' || typeof put.body !== 'string') return { put };
    const { job: _, ...run } = readRun(put);
    return { put: runRecord(run) };
  }),
);

function stored(name: keyof typeof STORE_FLAWS): JobsFlaw {
  const flaw = STORE_FLAWS[name];
  if (flaw === undefined) throw new Error(`there is no bug named ${name}`);
  return flaw;
}

const wrapping = (about: string, wrap: (store: RecordStore) => RecordStore): JobsFlaw => ({ about, wrap });

export const JOBS_FLAWS: Readonly<Record<string, JobsFlaw>> = {
  'torn-writes': stored('torn-writes'),
  'lost-writes': stored('lost-writes'),
  'never-due': stored('never-due'),
  'caller-starts': { about: 'callers start a handler of the service', registry: OpenRegistry },
  'ledger-forgotten': wrapping(
    'a batch does not keep that it was written',
    between(as, dropped(IMPORTS.name)),
  ),
  'key-forgotten': wrapping('an admission does not keep its key', between(as, dropped('admissions'))),
  'ceiling-ignored': wrapping('jobs are admitted beyond ceiling and share', withoutCeiling),
  'counted-for-ever': wrapping('a job that is over still takes its room', withoutEnd),
  'one-space': wrapping('jobs of all callers are in one space', oneSpace),
  'job-forgotten': wrapping('an admitted run is not marked as a job', plainRun),
};
