import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import { requestsNaming } from './characters-requests.ts';
import { changedRows, differentRows } from './characters-store.ts';
import { type Belongings, type CharactersWorld, furnishParty } from './characters-world.ts';
import { type Call, type Headers } from './party.ts';
import { RecordSpace } from './record-space.ts';
import { pathOf } from './requests.ts';
import { HANDLER } from './runs.ts';
import { contractModels } from './schema-set.ts';

/**
 * Three standing characters try each operation of the catalogue on the data of a victim: a stranger without a credential,
 * a verified caller without rights, and a busy neighbour with all rights of its own tenant. They must learn nothing, change
 * nothing, and cost no more where the victim has more data.
 */

export type Character = 'stranger' | 'without rights' | 'neighbour' | 'neighbour on its own';

export interface Trial {
  /** The operation, its route and the number of the request. */
  readonly name: string;
  readonly entry: Pick<OperationEntry, 'id' | 'authorizationClass' | 'accessOperation'>;
  readonly character: Character;
  readonly status: number;
  readonly answer: string;
  /** Store calls and records read. */
  readonly reads: number;
  /** The texts of the victim that the answer holds. */
  readonly learned: readonly string[];
  /** Rows of the store that must not have changed. */
  readonly changed: readonly string[];
}

export interface Cast {
  readonly world: CharactersWorld;
  readonly entries: readonly OperationEntry[];
  /** The service, or one with a planted bug. */
  readonly call: Call;
  /** Whether only the reads of the trials count: then no row is compared. */
  readonly readsAlone?: boolean;
}

const set = contractModels();

/** Tries every route of every operation as every character. */
export async function tryAll(cast: Cast): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  const { world, entries } = cast;
  const victims = await furnishParty(world.service, world.victim);
  await warmUp(world, entries);
  let own = await furnishParty(world.service, world.neighbour);
  for (const entry of entries) {
    for (const route of entry.routes) {
      const place = { set, entry, route };
      // With keys of its own for each: a repeated request would change nothing.
      const ofVictim = () => requestsNaming(place, world.victim, victims);
      const tries: readonly (readonly [Character, Headers, readonly InjectedRequest[]])[] = [
        ['stranger', {}, ofVictim()],
        ['without rights', world.withoutRights, ofVictim()],
        ['neighbour', world.neighbour.headers, ofVictim()],
        ['neighbour on its own', world.neighbour.headers, requestsNaming(place, world.neighbour, own)],
      ];
      for (const [character, headers, requests] of tries)
        for (const [at, request] of requests.entries())
          trials.push(await tryOnce(cast, { entry, route, at, character, headers, request, victims }));
      // An acknowledged event, an ended run or a taken lease is of no use to the next operation.
      const already = { belongings: own, group: entry.group };
      if (entry.mutation === 'read') continue;
      own = await furnishParty(world.service, world.neighbour, already);
      // Wait for the job among them: its writes must not be taken for those of the next stranger.
      await new RecordSpace(world.service.call, world.neighbour.headers).settled(own.records.jobId);
      await world.count.rested();
    }
  }
  return trials;
}

/** Work that a deployment does once, such as indexing the runs of an earlier release, is no cost of a neighbour. */
async function warmUp(
  { service, victim: { headers } }: CharactersWorld,
  entries: Cast['entries'],
): Promise<void> {
  for (const { routes } of entries)
    for (const route of routes)
      if (route.method === 'GET' && route.path.length === 0)
        await service.call({ method: 'GET', path: pathOf(route, {}), headers });
}

interface Attempt {
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  readonly at: number;
  readonly character: Character;
  readonly headers: Headers;
  readonly request: InjectedRequest;
  readonly victims: Belongings;
}

const noRows: ReadonlySet<string> = new Set();

async function tryOnce(
  { world, call, readsAlone = false }: Cast,
  { entry, route, at, character, headers, request, victims }: Attempt,
): Promise<Trial> {
  const { content, count, victim } = world;
  const names = namesOf(victim, victims);
  const rows = () => (readsAlone ? noRows : content.rows());
  const before = rows();
  count.taken();
  const given = (request.headers ?? []) as readonly (readonly [string, string])[];
  const answer = await call({ ...request, headers: [...given, ...Object.entries(headers)] });
  const reads = count.taken();
  const after = rows();
  await settle(world, answer, headers);
  await count.rested();
  const asked = `${request.path} ${decodeURIComponent(request.path)} ${JSON.stringify(request.body ?? '')}`;
  const owned = character.startsWith('neighbour');
  return {
    name: `${route.operationId}${at === 0 ? '' : ` ${at + 1}`}`,
    entry,
    character,
    status: answer.status,
    answer: answer.body,
    reads,
    learned: names.filter((name) => !asked.includes(name) && textOf(answer).includes(name)),
    changed: owned ? changedRows(before, after, names) : differentRows(before, after),
  };
}

/** Jobs run after their answer, and must not be taken for what the next request did. */
async function settle(
  { service }: CharactersWorld,
  { status, body }: InjectedResponse,
  headers: Headers,
): Promise<void> {
  if (status !== 202) return;
  const { id } = JSON.parse(body) as { id?: string };
  if (id === undefined || isStart(body)) return;
  await new RecordSpace(service.call, headers).settled(id);
}

const isStart = (body: string) => body.includes(`"${HANDLER}"`);

function namesOf(
  victim: CharactersWorld['victim'],
  { runs, records, outbox: { event, deadLetter } }: Belongings,
): readonly string[] {
  const ids = [...Object.values(runs.ids), runs.artifactId, ...runs.tokens];
  return [victim.mark, victim.tenantId, ...ids, ...Object.values(event), deadLetter, records.jobId];
}

function textOf({ headers, body }: InjectedResponse): string {
  return `${JSON.stringify(headers)}\n${body}`;
}

/** Access operations that act on all tenants: a neighbour of a shared deployment has none of them. */
const OF_OPERATORS: ReadonlySet<string | null> = new Set(['admin', 'maintenance', 'restore']);

/** An operation to come needs this before its reads count for anything. */
const HINTS: Readonly<Partial<Record<Character, string>>> = {
  'neighbour on its own':
    ' (characters-requests.ts must say what a valid request holds, and characters-world.ts grant it)',
};

/** The faults that a single trial shows, a sentence each. */
export function trialFaults(trial: Trial): readonly string[] {
  const { name, character, status, learned, changed, answer } = trial;
  const faults: string[] = [];
  if (!statusHolds(trial))
    faults.push(`answered ${status}${HINTS[character] ?? ''}: ${answer.slice(0, 200)}`);
  if (learned.length > 0) faults.push(`learned ${learned.join(', ')}`);
  if (changed.length > 0) faults.push(`changed ${changed.length} rows: ${changed[0]?.slice(0, 200)}`);
  return faults.map((fault) => `${name} as ${character}: ${fault}`);
}

function statusHolds({ entry, character, status }: Trial): boolean {
  if (entry.authorizationClass === 'anonymous') return status < 300;
  if (character === 'stranger') return status === 401;
  if (character === 'without rights') return status === 403 || status === 404;
  if (character === 'neighbour') return status < 500;
  return OF_OPERATORS.has(entry.accessOperation) ? status === 403 : status < 300;
}

/** Reads may differ a little: a cache is filled, a shard of a counter is drawn, or the state of an index is due to be read again. */
const SLACK = 8;

/** Trials that read more where the victim has ten times the data. Both lists are of the same operations in the same order. */
export function costFaults(small: readonly Trial[], large: readonly Trial[]): readonly string[] {
  return large.flatMap(({ name, character, reads }, at) => {
    const before = small[at];
    if (before === undefined || before.name !== name) throw new Error(`${name} was not tried twice`);
    return reads <= before.reads + SLACK
      ? []
      : [
          `${name} as ${character}: ${before.reads} reads, and ${reads} where the victim has ten times the data`,
        ];
  });
}
