import { type RecordData, type Scope, StoreError } from '../port.ts';
import { changeHead, type ScopeHead, without } from './head.ts';
import { recordPath } from './layout.ts';
import { Loader } from './load.ts';
import type { Session } from './session.ts';
import { sweepRetired } from './sweep.ts';
import { createWrites } from './writes.ts';

/** A load without a write for this time belongs to a process that died. */
const abandonedAfterMs = 60 * 60 * 1000;
const renewAfterMs = 5 * 60 * 1000;

/**
 * Loads into a generation that no reader knows while the scope stays usable, then makes it live by one write of the
 * head. During the load the head names the generation as pending, so that the next swap finds and sweeps the leftovers
 * of a dead instance. The final write requires that entry, so an abandoned generation never becomes live.
 */
export async function swap(
  session: Session,
  scope: Scope,
  records: AsyncIterable<RecordData>,
  verify: () => void | Promise<void>,
): Promise<void> {
  const generation = Buffer.from(session.random.bytes(8)).toString('hex');
  await renew(session, scope, generation, true);
  try {
    await load(session, scope, generation, records);
    await verify();
    await flip(session, scope, generation);
  } catch (error) {
    const head = await giveUp(session, scope, generation).catch(() => undefined);
    // With this generation in the head, only the answer of the flip was lost.
    if (head?.generation !== generation) throw error;
  }
  // The swap is done; the next one finds the leftovers of this sweep.
  await sweepRetired(session, scope).catch(() => undefined);
}

async function load(
  session: Session,
  scope: Scope,
  generation: string,
  records: AsyncIterable<RecordData>,
): Promise<void> {
  const loader = new Loader(session);
  let renewed = session.clock.now();
  try {
    for await (const record of records) {
      const path = recordPath(scope, generation, record.key);
      await loader.add(createWrites(session, path, record, generation));
      if (session.clock.now() < renewed + renewAfterMs) continue;
      renewed = session.clock.now();
      await renew(session, scope, generation, false);
    }
  } finally {
    // Also after a failure: nothing may be written any more once the generation is cleared.
    await loader.settle();
  }
  loader.assertLoaded();
}

async function renew(session: Session, scope: Scope, generation: string, first: boolean): Promise<void> {
  const expiry = session.clock.now() + abandonedAfterMs;
  await changeHead(session, scope, (head) => {
    if (head.pending[generation] === expiry) return null;
    if (!first && head.pending[generation] === undefined) throw abandoned();
    return { ...head, pending: { ...head.pending, [generation]: expiry } };
  });
}

async function flip(session: Session, scope: Scope, generation: string): Promise<void> {
  const now = session.clock.now();
  const head = await changeHead(session, scope, (before) => {
    // Only this call uses the random name, so an earlier try with a lost answer made it live.
    if (before.generation === generation) return null;
    if (before.pending[generation] === undefined) throw abandoned();
    return {
      generation,
      pending: without(before.pending, generation),
      retired: { ...before.retired, [before.generation]: now },
    };
  });
  session.states.saw(scope, head);
}

/**
 * Nothing visible has changed, unless the flip was made and its answer lost; then the head stays. Once the entry is
 * moved, a flip still under way fails on the changed head, and only then may records be deleted.
 */
async function giveUp(session: Session, scope: Scope, generation: string): Promise<ScopeHead> {
  const head = await changeHead(session, scope, (before) =>
    before.generation === generation || before.pending[generation] === undefined
      ? null
      : {
          ...before,
          pending: without(before.pending, generation),
          // The generation was replaced so long ago that no call under way can use it, so it can be deleted at once.
          retired: { ...before.retired, [generation]: 0 },
        },
  );
  if (head.generation !== generation) await sweepRetired(session, scope);
  return head;
}

function abandoned(): StoreError {
  return new StoreError(
    'contention',
    'the load took too long between two records and was given up; start it again',
  );
}
