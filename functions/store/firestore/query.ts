import type {
  Count,
  Find,
  KeysSelection,
  ListSelection,
  Moment,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import type { FindPage, FindRequest } from '../search.ts';
import { countRecords } from './count.ts';
import { findByTerm, findCounts } from './find.ts';
import { listRecords } from './list.ts';
import { findNearest } from './nearest.ts';
import { listParts } from './parts.ts';
import {
  type Fixed,
  inLiveGeneration,
  type MomentReading,
  type ReadTime,
  readKeys,
  readKeysAt,
} from './read.ts';
import { distinctKeys, nameOf } from './records.ts';
import type { ScopeState, Session } from './session.ts';

export async function query(
  session: Session,
  scope: Scope,
  selection: Selection,
): Promise<RecordPage | PartPage> {
  const { page } = await readFirst(session, scope, selection);
  return page;
}

export async function snapshot<R>(
  session: Session,
  scope: Scope,
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  return read(new FirestoreMoment(session, scope));
}

type Selection = KeysSelection | ListSelection | PartsSelection;

/** The first query finds the generation and the moment; all others read there. */
class FirestoreMoment implements Moment {
  readonly #session: Session;
  readonly #scope: Scope;
  #fixed: Fixed | undefined;
  // Each request has the page of its kind, which `#find` gives.
  readonly find = ((request: FindRequest) => this.#find(request)) as Find;
  readonly count: Count = async (selection) =>
    countRecords(this.#session, this.#scope, await this.#fix(), selection);

  constructor(session: Session, scope: Scope) {
    this.#session = session;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  async query(selection: Selection): Promise<RecordPage | PartPage> {
    if (this.#fixed !== undefined) return this.#again(this.#fixed, selection);
    const { page, fixed } = await readFirst(this.#session, this.#scope, selection);
    this.#fixed = fixed;
    return page;
  }

  async generation(): Promise<string> {
    return (await this.#fix()).state.generation;
  }

  async #fix(): Promise<Fixed> {
    this.#fixed ??= await readKeys(this.#session, this.#scope, []);
    return this.#fixed;
  }

  async #find(request: FindRequest): Promise<FindPage> {
    const fixed = await this.#fix();
    if (request.by === 'counts') return findCounts(this.#session, this.#scope, fixed, request);
    if (request.by === 'term') return findByTerm(this.#session, this.#scope, fixed, request);
    return findNearest(this.#session, this.#scope, fixed, request);
  }

  async #again({ state, at }: Fixed, selection: Selection): Promise<RecordPage | PartPage> {
    if (selection.by !== 'keys') return readPage(this.#session, this.#scope, state, selection, { at });
    const keys = distinctKeys(selection.keys);
    return pageOf(selection, await readKeysAt(this.#session, this.#scope, keys, { state, at }));
  }
}

async function readFirst(
  session: Session,
  scope: Scope,
  selection: Selection,
): Promise<{ readonly page: RecordPage | PartPage; readonly fixed: Fixed | undefined }> {
  if (selection.by === 'keys') {
    const found = await readKeys(session, scope, distinctKeys(selection.keys));
    return { page: pageOf(selection, found), fixed: found };
  }
  return inLiveGeneration(session, scope, async (state) => {
    const time: ReadTime = {};
    const page = await readPage(session, scope, state, selection, time);
    return { page, fixed: time.at === undefined ? undefined : { state, at: time.at } };
  });
}

function readPage(
  session: Session,
  scope: Scope,
  state: ScopeState,
  selection: ListSelection | PartsSelection,
  time: ReadTime,
): Promise<RecordPage | PartPage> {
  return selection.by === 'parts'
    ? listParts(session, scope, state, selection, time)
    : listRecords(session, scope, state.generation, selection, time);
}

function pageOf({ keys }: KeysSelection, { records }: MomentReading): RecordPage {
  const found = keys.map(({ key }) => records.get(nameOf(key)));
  return { records: found.filter((record): record is RecordData => record !== undefined), next: null };
}
