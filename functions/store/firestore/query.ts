import type {
  KeysSelection,
  ListSelection,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  Scope,
} from '../port.ts';
import { listRecords } from './list.ts';
import { listParts } from './parts.ts';
import { inLiveGeneration, readKeys } from './read.ts';
import { distinctKeys, nameOf } from './records.ts';
import type { Session } from './session.ts';

export async function query(
  session: Session,
  scope: Scope,
  selection: KeysSelection | ListSelection | PartsSelection,
): Promise<RecordPage | PartPage> {
  if (selection.by === 'keys') return byKeys(session, scope, selection);
  if (selection.by === 'parts') {
    return inLiveGeneration(session, scope, (state) => listParts(session, scope, state, selection));
  }
  return inLiveGeneration(session, scope, ({ generation }) =>
    listRecords(session, scope, generation, selection),
  );
}

async function byKeys(session: Session, scope: Scope, selection: KeysSelection): Promise<RecordPage> {
  const keys = distinctKeys(selection.keys);
  const { records } = await readKeys(session, scope, keys);
  const found = selection.keys.map(({ key }) => records.get(nameOf(key)));
  return { records: found.filter((record): record is RecordData => record !== undefined), next: null };
}
