import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { catalogGroups, collectionsOf } from '../../functions/compose/catalog-groups.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { openStore, type TestedStore } from '../conformance/stores/tested-store.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { type Target } from './attacked.ts';
import { simplest } from './fuzz.ts';
import { furnishRecords } from './record-belongings.ts';
import { type Draft, type Place, proofIn, requestOf } from './requests.ts';
import { contractModels, type SchemaSet } from './schema-set.ts';
import { allEntries, type FurnishedTenant, furnishedTenant, placeFor } from './target.ts';
import { verbatimMembers } from './verbatim.ts';

/** The answer of a service, without the words that differ from one service to another. */
export interface Outcome {
  readonly status: number;
  readonly code: string | null;
  /** How the job ended that the request started. */
  readonly job: string | null;
  readonly body: string;
}

/** Where two outcomes differ first, with a little around; `null` where they are equal. */
export function difference(tested: Outcome, sqlite: Outcome): string | null {
  const [own, other] = [tested, sqlite].map(
    (outcome) => `${outcome.status} ${outcome.code ?? ''} ${outcome.job ?? ''} ${outcome.body}`,
  );
  if (own === undefined || other === undefined || own === other) return null;
  let at = 0;
  while (own[at] === other[at]) at += 1;
  const around = (text: string) => `${text.slice(0, 30)} ... ${text.slice(Math.max(0, at - 60), at + 60)}`;
  return `${around(own)}\n  SQLite: ${around(other)}`;
}

/** The same service over two databases: each request goes to both, in the names that each of them gave. */
export class Twins {
  readonly #sides: readonly [Side, Side];

  constructor(sides: readonly [Side, Side]) {
    this.#sides = sides;
  }

  async close(): Promise<void> {
    for (const { service } of this.#sides) await service.close();
  }

  /** Furnishes both for the operation. */
  async furnish(entry: OperationEntry, route: OperationRoute): Promise<TwinPlace> {
    const [tested, sqlite] = this.#sides;
    return new TwinPlace([await tested.placeFor(entry, route), await sqlite.placeFor(entry, route)]);
  }
}

/** Starts the service over the database under test and over SQLite. */
export async function startTwins(tested: TestedStore): Promise<Twins> {
  const store = await openStore(tested, await collectionsOf(catalogGroups));
  const own = await startService({ world: hurried, store });
  const sqlite = await startService({ world: hurried });
  return new Twins([await Side.of(own), await Side.of(sqlite)]);
}

class Side {
  readonly service: RunningService;
  readonly target: Target;
  readonly #tenant: FurnishedTenant;
  /** By the group of the operation. */
  readonly #places = new Map<string, Place>();

  private constructor(service: RunningService, target: Target, tenant: FurnishedTenant) {
    this.service = service;
    this.target = target;
    this.#tenant = tenant;
  }

  static async of(service: RunningService): Promise<Side> {
    const target = { set: contractModels(), entries: allEntries, call: service.call };
    // Examples name this collection and its record.
    await furnishRecords(service.call, CALLER);
    return new Side(service, target, await furnishedTenant(target));
  }

  async placeFor(entry: OperationEntry, route: OperationRoute): Promise<PlaceOfSide> {
    // A request that ends a lease leaves none for the next, and one that returns an earlier answer needs its own,
    // so both get a place of their own.
    const own =
      takesLease(this.target, entry) || verbatimMembers(this.target.set, entry.requestSchema).size > 0;
    const known = own ? undefined : this.#places.get(entry.group);
    const tenant = own ? undefined : this.#tenant;
    const place = known ?? (await placeFor(this.target, entry, route, tenant));
    if (!own) this.#places.set(entry.group, place);
    return { place: { ...place, entry, route }, service: this.service };
  }
}

/** Whether the request returns an earlier answer, which has a hash: no name and no value of it can be another. */
export function givesBack(set: SchemaSet, { requestSchema }: OperationEntry): boolean {
  return verbatimMembers(set, requestSchema).size > 0;
}

function takesLease({ set }: Pick<Place, 'set'>, { requestSchema }: OperationEntry): boolean {
  return requestSchema !== null && Object.hasOwn(set.model(requestSchema).properties ?? {}, 'leaseToken');
}

interface PlaceOfSide {
  readonly place: Place;
  readonly service: RunningService;
}

/** The places on which the operation is called, on both services. */
export class TwinPlace {
  readonly #tested: PlaceOfSide;
  readonly #sqlite: PlaceOfSide;
  /** The example of the operation, in the words of the database under test, and in those of SQLite where they give an answer back. */
  readonly draft: Draft;
  readonly #other: Draft | null;
  readonly #renamed: ReadonlyMap<string, string>;

  constructor([tested, sqlite]: readonly [PlaceOfSide, PlaceOfSide]) {
    this.#tested = tested;
    this.#sqlite = sqlite;
    this.draft = withProof(tested.place, simplest(tested.place));
    this.#renamed = names(tested.place, sqlite.place);
    const { set, entry } = sqlite.place;
    this.#other = givesBack(set, entry) ? simplest(sqlite.place) : null;
  }

  /** Sends the example to both, with another body where one is given. */
  async send(body?: Json): Promise<{ readonly tested: Outcome; readonly sqlite: Outcome }> {
    const draft = body === undefined ? this.draft : { ...this.draft, body };
    const renamed = this.#other ?? (JSON.parse(this.#inWordsOfSqlite(JSON.stringify(draft))) as Draft);
    const tested = await outcomeOf(this.#tested, draft);
    const sqlite = await outcomeOf(this.#sqlite, renamed);
    return {
      tested: { ...tested, body: plain(this.#inWordsOfSqlite(tested.body)) },
      sqlite: { ...sqlite, body: plain(sqlite.body) },
    };
  }

  #inWordsOfSqlite(text: string): string {
    let renamed = text;
    for (const [from, to] of this.#renamed) renamed = renamed.replaceAll(from, to);
    return renamed;
  }
}

/** The draft with the proof of a lease that holds, where the operation takes one. */
function withProof(place: Place, draft: Draft): Draft {
  if (!takesLease(place, place.entry)) return draft;
  const { vocabulary, set, entry } = place;
  const ofRun = proofIn(vocabulary, set.model(entry.requestSchema ?? '').properties ?? {});
  // The words of answers come last: the outbox was leased before the runs.
  const [eventId, leaseToken] = ['eventId', 'leaseToken'].map((name) => vocabulary.get(name)?.at(-1) ?? '');
  const proof = ofRun ?? { eventId, leaseToken };
  return { ...draft, body: { ...(draft.body as Record<string, Json>), ...proof } as Json };
}

/** Maps the names of the first place to those of the second. */
function names(first: Place, second: Place): ReadonlyMap<string, string> {
  const pairs = [...first.vocabulary].flatMap(([name, words]) =>
    words.map((word, at) => [word, second.vocabulary.get(name)?.[at] ?? word] as const),
  );
  const all = [...pairs, [first.fixed['tenantId'] ?? '', second.fixed['tenantId'] ?? ''] as const];
  return new Map(all.filter(([word, other]) => word !== other && word.length > SHORT_NAME));
}

/** The services know no identities. */
const CALLER = { headers: {}, productId: 'billing', tenantId: 'tenant', workerId: 'worker', mark: 'mark' };
/** A shorter text may stand within others. */
const SHORT_NAME = 12;

async function outcomeOf({ place, service }: PlaceOfSide, draft: Draft): Promise<Outcome> {
  const answer = await service.call(requestOf(place, draft));
  const { status } = answer;
  const isJson = answer.headers['content-type']?.includes('json') === true;
  // Traces of one moment are listed by their random ids, and maintenance counts what attempts have left.
  const text =
    isJson && place.entry.group !== 'traces' && place.entry.completion !== 'maintenance' ? answer.body : '';
  const code = status >= 400 ? answer.json<{ code: string }>().code : null;
  const isJob = status === 202 && place.entry.group !== 'execution';
  return { status, code, job: isJob ? await endOf(service, answer) : null, body: text };
}

async function endOf(service: RunningService, answer: InjectedResponse): Promise<string> {
  const { id } = answer.json<{ id: string }>();
  const ended = await service.ended({ method: 'GET', path: `/execution/runs/${id}` });
  const { status, failureClass } = ended.json<{ status: string; failureClass: string | null }>();
  return `${status} ${failureClass ?? ''}`;
}

/** Without what depends on the moment or on chance: times of today, ids, tokens and what is hashed with them, measured times. */
function plain(body: string): string {
  const year = new Date().getUTCFullYear();
  // Ends of leases may lie in the next year.
  return (
    body
      .replaceAll(new RegExp(`"(?:${year - 1}|${year}|${year + 1})-[^"]*Z"`, 'g'), '"now"')
      // A long text of one letter is no name.
      .replaceAll(/"[^"]*(?!([\w-])\1{18})[\w-]{20,}[^"]*"/g, '"name"')
      .replaceAll(/"(\w*(?:Ms|[lL]atency|[dD]uration)\w*)":-?[\d.]+/g, '"$1":0')
  );
}
