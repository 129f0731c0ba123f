import type { Scope } from '../port.ts';
import { changeHead, without } from './head.ts';
import { decodeScope, generationPath, scopeKinds } from './layout.ts';
import { Loader } from './load.ts';
import { reading } from './read.ts';
import type { Session } from './session.ts';
import { messageBytes } from './size.ts';

/** Longer than any call lasts that may still read or write the generation. */
const restMs = 60 * 60 * 1000;
/** The most documents that one swap deletes; the next swap or maintenance deletes the rest. */
const documentsMax = 20_000;
const pageSize = 300;

/** Sweeps every scope that has something to sweep. Reads the head of every scope that was ever swapped, and no record. */
export async function sweepEverywhere(session: Session, stopped: () => boolean): Promise<void> {
  for (const kind of scopeKinds) {
    const heads = session.db
      .collection(kind)
      .select('pending', 'retired')
      .orderBy('__name__')
      .limit(pageSize);
    for (let page = heads; ; ) {
      const { docs } = await reading(session, page.get());
      for (const document of docs) {
        const { pending = {}, retired = {} } = document.data();
        if (Object.keys({ ...pending, ...retired }).length === 0) continue;
        await sweepScope(session, decodeScope(kind, document.id), stopped);
        if (stopped()) return;
      }
      const last = docs.at(-1);
      if (last === undefined || docs.length < pageSize) break;
      page = heads.startAfter(last.ref);
    }
  }
}

export async function sweepScope(session: Session, scope: Scope, stopped: () => boolean): Promise<void> {
  while ((await sweepRetired(session, scope)) && !stopped());
}

/**
 * Deletes generations that were replaced an hour ago or earlier, and ends loads whose time is over; never touches a
 * live generation. Answers `true` when more may be deleted now.
 */
export async function sweepRetired(session: Session, scope: Scope): Promise<boolean> {
  const now = session.clock.now();
  const head = await changeHead(session, scope, (before) => {
    const expired = Object.keys(before.pending).filter(
      (generation) => (before.pending[generation] ?? now) < now,
    );
    if (expired.length === 0) return null;
    const pending = Object.fromEntries(
      Object.entries(before.pending).filter(([name]) => !expired.includes(name)),
    );
    const given = Object.fromEntries(expired.map((generation) => [generation, now]));
    return { ...before, pending, retired: { ...before.retired, ...given } };
  });
  let budget = documentsMax;
  for (const [generation, since] of Object.entries(head.retired)) {
    // A retired generation is never live again: its name is random and demanded to be pending by the flip.
    if (since > now - restMs || generation === head.generation || budget <= 0) continue;
    budget = await deleteDocuments(session, scope, generation, budget);
    if (budget <= 0) return true;
    await changeHead(session, scope, (before) =>
      before.retired[generation] === undefined
        ? null
        : { ...before, retired: without(before.retired, generation) },
    );
  }
  return false;
}

/** Returns the rest of the budget; 0 when there may be more to delete. */
async function deleteDocuments(
  session: Session,
  scope: Scope,
  generation: string,
  budget: number,
): Promise<number> {
  let left = budget;
  const loader = new Loader(session);
  const collections = await reading(
    session,
    session.db.doc(generationPath(scope, generation)).listCollections(),
  );
  for (const collection of collections) {
    let page = collection.limit(pageSize).select();
    for (;;) {
      if (left <= 0) {
        await loader.settle();
        return 0;
      }
      const { docs } = await reading(session, page.get());
      for (const { ref } of docs) {
        const message = messageBytes(ref.path, {}, 160);
        const addTo = (batch: FirebaseFirestore.WriteBatch): unknown => batch.delete(ref);
        await loader.add([{ path: ref.path, message, index: 0, document: 0, addTo }]);
      }
      left -= docs.length;
      const last = docs.at(-1);
      if (last === undefined || docs.length < pageSize) break;
      page = collection.limit(pageSize).select().orderBy('__name__').startAfter(last.ref);
    }
  }
  await loader.settle();
  loader.assertLoaded();
  return left;
}
