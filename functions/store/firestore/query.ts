import type { Timestamp } from '@google-cloud/firestore';
import type {
  KeysSelection,
  ListSelection,
  Moment,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import { listRecords } from './list.ts';
import { listParts } from './parts.ts';
import { inLiveGeneration, type Reading, type ReadTime, readKeys, readKeysAt } from './read.ts';
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

/** A generation that was live, and when it was read: its records at that time are the scope at one moment. */
interface Fixed {
  readonly state: ScopeState;
  readonly at: Timestamp;
}

/** The first query finds the generation and the moment; all others read there. */
class FirestoreMoment implements Moment {
  readonly #session: Session;
  readonly #scope: Scope;
  #fixed: Fixed | undefined;

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
    if (this.#fixed === undefined) await this.query({ by: 'keys', keys: [] });
    return this.#fixed?.state.generation ?? '';
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

function pageOf({ keys }: KeysSelection, { records }: Reading): RecordPage {
  const found = keys.map(({ key }) => records.get(nameOf(key)));
  return { records: found.filter((record): record is RecordData => record !== undefined), next: null };
}
