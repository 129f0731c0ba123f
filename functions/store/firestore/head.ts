import { type Scope, StoreError } from '../port.ts';
import { sendBatch } from './client.ts';
import { commitFailure } from './failures.ts';
import { FIRST_GENERATION, headPath } from './layout.ts';
import { reading } from './read.ts';
import { Patience, type Session } from './session.ts';

/** The head of a scope, whole. Times are milliseconds since 1970. */
export interface ScopeHead {
  readonly generation: string;
  /** Each generation under load, with the time after which it counts as abandoned. */
  readonly pending: Readonly<Record<string, number>>;
  /** Generation that will never be live again → since when. */
  readonly retired: Readonly<Record<string, number>>;
}

/**
 * Changes the head unless a rival changes it at the same time; then reads it again. `change` returns `null` for no
 * change. It also runs again after a lost answer, so it must recognise its own change.
 */
export async function changeHead(
  session: Session,
  scope: Scope,
  change: (head: ScopeHead) => ScopeHead | null,
): Promise<ScopeHead> {
  const ref = session.db.doc(headPath(scope));
  const patience = new Patience(session);
  for (;;) {
    const snapshot = await reading(session, ref.get());
    const head = headOf(snapshot.data() ?? {}, ref.path);
    const next = change(head);
    if (next === null) return head;
    const batch = session.db.batch();
    const { updateTime } = snapshot;
    if (updateTime === undefined) batch.create(ref, next);
    else batch.update(ref, { ...next }, { lastUpdateTime: updateTime });
    try {
      await sendBatch(batch, 'commit');
      return next;
    } catch (error) {
      const failure = commitFailure(error);
      await (failure === 'refused' ? patience.afterRefusal() : patience.afterDoubt(error));
    }
  }
}

function headOf(data: Readonly<Record<string, unknown>>, path: string): ScopeHead {
  const { generation = FIRST_GENERATION, pending = {}, retired = {} } = data;
  if (typeof generation !== 'string') {
    throw new StoreError('corrupt', `${path} is not the head of a scope`);
  }
  return {
    generation,
    pending: pending as Record<string, number>,
    retired: retired as Record<string, number>,
  };
}

export function without(times: Readonly<Record<string, number>>, generation: string): Record<string, number> {
  return Object.fromEntries(Object.entries(times).filter(([name]) => name !== generation));
}
