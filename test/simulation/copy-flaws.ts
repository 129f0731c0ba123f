import type { RecordData, RecordStore, ScanPage, ScanRequest, Scope } from '../../functions/store/port.ts';
import type { Flaw } from './flaws.ts';
import { keyName } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

/** Bugs of copies, planted on purpose: in what a scan shows, in what a swap does, and in what a restore hands to it. */

/** Each page shows its own moment: a write during the scan is in the later pages and not in the earlier ones. */
class TornExport extends MemoryStore {
  override async *scan(scope: Scope, request: ScanRequest): AsyncGenerator<ScanPage, void, undefined> {
    for (let last = ''; ; ) {
      await this.hooks.before?.('scan');
      const left = this.ordered(scope, request).filter(({ key }) => keyName(key) > last);
      const records = left.slice(0, Math.min(3, this.pageSize(request)));
      await this.hooks.after?.('scan');
      if (records.length === 0) return;
      last = keyName((records.at(-1) as RecordData).key);
      yield { records, resume: null };
    }
  }
}

/** Each export shows the content of the export before it. */
class StaleExport extends MemoryStore {
  readonly #before = new Map<string, RecordData[]>();

  protected override ordered(scope: Scope, request: ScanRequest): RecordData[] {
    const records = super.ordered(scope, request);
    const before = this.#before.get(scope.name) ?? records;
    this.#before.set(scope.name, records);
    return before;
  }
}

/** A restore leaves the records of the tenant that are not in the copy. */
class MergedRestore extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(scope, together(this.database.all(scope), records));
  }
}

/** The receipts of undone commits stay, so their keys are never free again. */
class KeptReceipts extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(scope, together(this.database.all(scope, 'commits'), records));
  }
}

function together(
  kept: readonly { readonly record: RecordData }[],
  records: readonly RecordData[],
): RecordData[] {
  const restored = new Set(records.map(({ key }) => keyName(key)));
  return [...records, ...kept.map(({ record }) => record).filter(({ key }) => !restored.has(keyName(key)))];
}

/** A restore does not end the lease of an event. */
class KeptLeases extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(
      scope,
      records.map((record) => {
        const held = this.database.find(scope, record.key)?.record;
        if (record.key.collection !== 'events' || held?.head.state !== 'leased') return record;
        return { ...record, head: { ...record.head, leaseTokenHash: held.head.leaseTokenHash ?? null } };
      }),
    );
  }
}

/** The loaded records replace the tenant before the copy is verified. */
class FlipBeforeVerify extends MemoryStore {
  override async swap(
    scope: Scope,
    records: AsyncIterable<RecordData>,
    verify: () => void | Promise<void>,
  ): Promise<void> {
    const loaded: RecordData[] = [];
    try {
      for await (const record of records) loaded.push(record);
    } finally {
      await this.hooks.before?.('swap');
      this.replaceNow(scope, loaded);
      await this.hooks.after?.('swap');
    }
    await verify();
  }
}

/** The old records are removed before the new ones exist. */
class EmptiedFirst extends MemoryStore {
  override async swap(...[scope, records, verify]: Parameters<RecordStore['swap']>): Promise<void> {
    await this.hooks.before?.('swap');
    this.replaceNow(scope, []);
    await super.swap(scope, records, verify);
  }
}

/** The loaded records are visible while the rest is still under way. */
class SeenWhileLoading extends MemoryStore {
  protected override loaded(scope: Scope, records: readonly RecordData[]): void {
    this.replaceNow(scope, records);
  }
}

/** Answers that the restore has replaced the tenant although it has not. */
class LostRestore extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    if (records.length % 2 === 0) super.replaceNow(scope, records);
  }
}

/** A restore of one tenant also reaches another. */
class RestoredElsewhere extends MemoryStore {
  protected override replaceNow(scope: Scope, records: readonly RecordData[]): void {
    super.replaceNow(scope, records);
    if (scope.kind === 'tenants') this.database.replace({ kind: 'tenants', name: 'tenant-c' }, records);
  }
}

/** A hook in the place of a broken rule that changes the content of a copy or of a restore. */
function copying(shown: (record: RecordData) => RecordData[], brought = shown) {
  return (store: RecordStore): RecordStore => ({
    provider: store.provider,
    transact: store.transact.bind(store),
    query: store.query.bind(store),
    snapshot: store.snapshot.bind(store),
    claim: store.claim.bind(store),
    due: store.due.bind(store),
    ping: store.ping.bind(store),
    sweep: store.sweep.bind(store),
    close: store.close.bind(store),
    async *scan(scope, request) {
      for await (const page of store.scan(scope, request)) {
        yield { ...page, records: page.records.flatMap(shown) };
      }
    },
    swap: (scope, records, verify) => store.swap(scope, changed(records, brought), verify),
  });
}

async function* changed(records: AsyncIterable<RecordData>, change: (record: RecordData) => RecordData[]) {
  for await (const record of records) yield* change(record);
}

const same = (record: RecordData): RecordData[] => [record];

export const COPY_FLAWS: Readonly<Record<string, Flaw>> = {
  'torn-export': { about: 'an export reads its pages at different moments', store: TornExport },
  'stale-export': { about: 'an export shows an earlier moment than it was asked at', store: StaleExport },
  'forgotten-tombstones': {
    about: 'an export leaves out what is deleted',
    wrap: copying((record) => (record.head.deleted === true ? [] : [record]), same),
  },
  'merged-restore': { about: 'a restore merges the copy into what is there', store: MergedRestore },
  'kept-receipts': { about: 'a restore keeps the receipts of what it undoes', store: KeptReceipts },
  'kept-leases': { about: 'a lease token survives a restore', store: KeptLeases },
  'uncounted-deliveries': {
    about: 'a restored event has never been delivered',
    wrap: copying(same, (record) =>
      record.key.collection === 'events'
        ? [{ ...record, head: { ...record.head, deliveryCount: 0 } }]
        : [record],
    ),
  },
  'never-due-again': {
    about: 'a restored event is never due',
    wrap: copying(same, (record) => [{ ...record, due: null }]),
  },
  'flip-before-verify': {
    about: 'a restore takes effect before its copy was found whole',
    store: FlipBeforeVerify,
  },
  'emptied-first': { about: 'a restore deletes before it writes', store: EmptiedFirst },
  'seen-while-loading': { about: 'a restore is seen while it is loading', store: SeenWhileLoading },
  'lost-restore': { about: 'a restore is answered that was not made', store: LostRestore },
  'restored-elsewhere': { about: 'a restore of one tenant also reaches another', store: RestoredElsewhere },
};
