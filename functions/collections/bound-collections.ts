import type {
  KeyRequest,
  KeysSelection,
  ListSelection,
  Moment,
  RecordData,
  RecordKey,
  RecordPage,
  RecordStore,
  Scope,
} from '../store/port.ts';
import type { RecordParts } from './parts.ts';
import { collectionMissing } from './read-policy.ts';
import { creationIn } from './rules/creation.ts';
import { policyKey, spaceScope } from './store-collections.ts';

const NAMES_A_READ = 100;

/** Collections by their names, each with the creation that it comes from. */
export type BoundCollections = Readonly<Record<string, string>>;

/** The collections that a job names, as its admission saw them. An absent one is not bound: the job may create it. */
export async function boundTo(
  { store }: RecordParts,
  space: string,
  names: readonly string[],
): Promise<BoundCollections> {
  const wanted = [...new Set(names)];
  const bound: [string, string][] = [];
  for (let at = 0; at < wanted.length; at += NAMES_A_READ) {
    const some = wanted.slice(at, at + NAMES_A_READ);
    const keys = some.map((name) => ({ key: policyKey(name) }));
    const { records } = await (await store()).query(spaceScope(space), { by: 'keys', keys });
    const heads = new Map(records.map(({ key, head }) => [key.id, head]));
    for (const name of some) {
      const head = heads.get(policyKey(name).id);
      if (head !== undefined) bound.push([name, creationIn(head)]);
    }
  }
  return Object.fromEntries(bound);
}

/** The parts of a job. Once a bound collection was deleted, each call by its name is refused as absent, also if a new one has the name. */
export function boundParts(
  parts: RecordParts,
  { space, collections = {} }: { readonly space: string; readonly collections?: BoundCollections },
): RecordParts {
  const bound = Object.entries(collections);
  if (bound.length === 0) return parts;
  const names = new Map(bound.map(([name, creation]) => [policyKey(name).id, { name, creation }]));
  return { ...parts, store: async () => boundStore(await parts.store(), spaceScope(space), names) };
}

type Names = ReadonlyMap<string, { readonly name: string; readonly creation: string }>;

/** Checks each policy record that a call reads, in the transaction or the moment of that call. */
function boundStore(store: RecordStore, space: Scope, names: Names): RecordStore {
  const isOwn = ({ kind, name }: Scope) => kind === space.kind && name === space.name;
  const own = {
    transact: ((scope, request, decide) =>
      store.transact(scope, request, (found) => {
        if (isOwn(scope)) judge(names, request.keys, (key) => found.get(key));
        return decide(found);
      })) satisfies RecordStore['transact'],
    query: async (scope: Scope, selection: Selection) => {
      const page = await store.query(scope, selection);
      if (isOwn(scope)) judgePage(names, selection, page);
      return page;
    },
    snapshot: ((scope, read) =>
      store.snapshot(scope, (moment) =>
        read(isOwn(scope) ? boundMoment(moment, names) : moment),
      )) satisfies RecordStore['snapshot'],
  };
  return over(store, own);
}

type Selection = KeysSelection | ListSelection;

function boundMoment(moment: Moment, names: Names): Moment {
  const query = async (selection: Selection) => {
    const page = await moment.query(selection);
    judgePage(names, selection, page);
    return page;
  };
  return over(moment, { query });
}

/** The same object with some methods of its own. */
function over<Port extends object>(port: Port, own: Partial<Record<keyof Port, unknown>>): Port {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Object.hasOwn(own, name)
        ? own[name as keyof Port]
        : Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

function judgePage(names: Names, selection: Selection, { records }: RecordPage): void {
  if (selection.by !== 'keys') return;
  judge(names, selection.keys, ({ id }) => records.find(({ key }) => key.id === id));
}

function judge(
  names: Names,
  keys: readonly KeyRequest[],
  get: (key: RecordKey) => RecordData | undefined,
): void {
  for (const { key } of keys) {
    const bound = names.get(key.id);
    if (bound === undefined) continue;
    const record = get(key);
    if (record === undefined || creationIn(record.head) !== bound.creation)
      throw collectionMissing(bound.name);
  }
}
