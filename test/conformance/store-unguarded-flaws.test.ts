import { expect, test } from 'vitest';
import type {
  Decision,
  KeyRequest,
  LoadedRecords,
  Scope,
  TransactRequest,
} from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { type MemoryHooks, MemoryStore, type Sight } from '../simulation/memory-store.ts';
import { unguardedChecks } from './store-transact-unguarded.ts';

/** A planted bug: each of these stores breaks one promise of `unguarded`. */
class GuardsIt extends MemoryStore {
  protected override see(scope: Scope, keys: readonly KeyRequest[], skips: boolean): Sight {
    const both = keys.flatMap((each) => [each, { key: each.key }]);
    return super.see(scope, both, skips);
  }
}

class GuardsNothing extends MemoryStore {
  protected override unchanged(): boolean {
    return true;
  }
}

class LetsItBeWritten extends MemoryStore {
  override transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    const both = request.keys.flatMap((each) => [each, { key: each.key }]);
    return super.transact(scope, { ...request, keys: both }, decide);
  }
}

class LeavesItUnread extends MemoryStore {
  protected override see(scope: Scope, keys: readonly KeyRequest[], skips: boolean): Sight {
    return super.see(
      scope,
      keys.filter(({ unguarded, expectAbsent }) => !(unguarded && expectAbsent)),
      skips,
    );
  }
}

class UnguardsOnOneRequest extends MemoryStore {
  protected override see(scope: Scope, keys: readonly KeyRequest[], skips: boolean): Sight {
    const sight = super.see(scope, keys, skips);
    const shown = keys.filter(({ unguarded }) => unguarded);
    const names = new Set(shown.map(({ key }) => `${key.collection}/${key.id}`));
    return { ...sight, versions: new Map([...sight.versions].filter(([name]) => !names.has(name))) };
  }
}

/** Shows the unguarded keys of the read before. */
class ReadsEarlier extends MemoryStore {
  #before = new Map<string, Sight>();

  protected override see(scope: Scope, keys: readonly KeyRequest[], skips: boolean): Sight {
    const sight = super.see(scope, keys, skips);
    const before = this.#before.get(scope.name) ?? sight;
    this.#before.set(scope.name, sight);
    const records = new Map(sight.records);
    for (const { key, unguarded } of keys) {
      const name = `${key.collection}/${key.id}`;
      const earlier = unguarded ? before.records.get(name) : undefined;
      if (earlier !== undefined) records.set(name, earlier);
    }
    return { ...sight, records };
  }
}

const turn: MemoryHooks = { before: () => new Promise<void>((resolve) => setImmediate(resolve)) };

async function failures(store: MemoryStore): Promise<string[]> {
  const failed: string[] = [];
  for (const [title, check] of Object.entries(unguardedChecks))
    await check(store, 5).catch(() => failed.push(title));
  return failed;
}

const flawed = {
  GuardsIt,
  GuardsNothing,
  LetsItBeWritten,
  LeavesItUnread,
  UnguardsOnOneRequest,
  ReadsEarlier,
};

test.each(Object.entries(flawed))('a store that is %s is found', async (_, Flawed) => {
  expect(await failures(new Flawed(new MemoryDatabase(), turn))).not.toEqual([]);
});

test('a store without a flaw passes', async () => {
  expect(await failures(new MemoryStore(new MemoryDatabase(), turn))).toEqual([]);
});
