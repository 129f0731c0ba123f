import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { BytesInFlight } from '../../functions/http/bytes-in-flight.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import type { Character } from './characters.ts';
import { requestsNaming } from './characters-requests.ts';
import { type Belongings, type CharactersWorld, furnishParty } from './characters-world.ts';
import { type Call, type Headers } from './party.ts';
import { contractModels } from './schema-set.ts';

/** The characters send a hostile body to each operation: as large as the operation allows, with a valid beginning. */

const MiB = 1024 * 1024;
export const BODY_BYTES_MAX = 8 * MiB;
const CHUNK_BYTES = 64 * 1024;

/** Follows what requests hold, by the counter of the service itself. */
export class HeldBytes {
  #counter: BytesInFlight | null = null;
  #most = 0;

  /** The counter, watched: a change of the count may raise `most`. */
  watch(counter: BytesInFlight): BytesInFlight {
    this.#counter = counter;
    const look = () => {
      this.#most = Math.max(this.#most, counter.total);
    };
    return {
      get total() {
        return counter.total;
      },
      open(caller) {
        const flight = counter.open(caller);
        const take = (bytes: number) => {
          flight.take(bytes);
          look();
        };
        const count = (bytes: number) => {
          flight.count(bytes);
          look();
        };
        return { take, count, release: () => flight.release() };
      },
    };
  }

  get now(): number {
    if (this.#counter === null) throw new Error('no service counts bytes');
    return this.#counter.total;
  }

  /** The largest count since the last call of this method. */
  takeMost(): number {
    const most = this.#most;
    this.#most = this.now;
    return most;
  }
}

/** A hostile body: what it adds to a valid request. */
export type Filler = 'one long text' | 'many small values';

export interface MemoryTrial {
  readonly name: string;
  readonly entry: Pick<OperationEntry, 'authorizationClass' | 'bodyLimitBytes'>;
  readonly character: Character;
  readonly status: number;
  /** The size of the body that the character would send. */
  readonly offered: number;
  /** The bytes of the body that the service took from the connection. */
  readonly read: number;
  /** The largest count of bytes in flight during the request. */
  readonly held: number;
  /** The count after the answer. */
  readonly left: number;
}

export interface MemoryCast {
  readonly world: CharactersWorld;
  readonly entries: readonly OperationEntry[];
  readonly held: HeldBytes;
  readonly filler: Filler;
  /** The service, or one with a planted bug. */
  readonly call: Call;
}

const set = contractModels();

/** Tries every route of every operation as every character. */
export async function tryBodies(cast: MemoryCast): Promise<readonly MemoryTrial[]> {
  const { world, entries } = cast;
  const victims = await furnishParty(world.service, world.victim);
  const own = await furnishParty(world.service, world.neighbour);
  const trials: MemoryTrial[] = [];
  const places = entries.flatMap((entry) => entry.routes.map((route) => ({ entry, route })));
  for (const place of places) {
    const ofVictim = firstRequest(place, world.victim, victims);
    const ofOwn = firstRequest(place, world.neighbour, own);
    const tries: readonly (readonly [Character, Headers, InjectedRequest])[] = [
      ['stranger', {}, ofVictim],
      ['without rights', world.withoutRights, ofVictim],
      ['neighbour', world.neighbour.headers, ofVictim],
      ['neighbour on its own', world.neighbour.headers, ofOwn],
    ];
    for (const [character, headers, request] of tries)
      trials.push(await tryBody(cast, { ...place, character, headers, request }));
  }
  return trials;
}

interface Place {
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
}

function firstRequest(place: Place, party: CharactersWorld['victim'], belongings: Belongings) {
  const [request] = requestsNaming({ set, ...place }, party, belongings);
  if (request === undefined) throw new Error(`${place.entry.id} has no request`);
  return request;
}

interface Attempt extends Place {
  readonly character: Character;
  readonly headers: Headers;
  readonly request: InjectedRequest;
}

async function tryBody(
  { call, held, filler }: MemoryCast,
  { entry, route, character, headers, request }: Attempt,
): Promise<MemoryTrial> {
  const limit = route.bodyFromParameters ? null : entry.bodyLimitBytes;
  const size = Math.min(limit ?? BODY_BYTES_MAX, BODY_BYTES_MAX);
  const sent = new SentBytes(hostileBody(request.body, size, filler));
  held.takeMost();
  const given = (request.headers ?? []) as readonly (readonly [string, string])[];
  const named = given.some(([name]) => name === 'Content-Type');
  const answer = await call({
    ...request,
    headers: [
      ...given,
      ...(named ? [] : [['Content-Type', entry.requestMediaType ?? 'application/json'] as const]),
      ['Content-Length', String(size)],
      ...Object.entries(headers),
    ],
    body: sent,
  });
  return {
    name: `${route.operationId} with ${filler}`,
    entry,
    character,
    status: answer.status,
    offered: size,
    read: sent.read,
    held: held.takeMost(),
    left: held.now,
  };
}

/** A body that counts the bytes that the service takes from it. */
class SentBytes implements AsyncIterable<Uint8Array> {
  read = 0;
  readonly #parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (const part of this.#parts)
      for (let at = 0; at < part.length; at += CHUNK_BYTES) {
        const chunk = part.subarray(at, at + CHUNK_BYTES);
        this.read += chunk.length;
        yield chunk;
      }
  }
}

// Made once: hundreds of bodies are as long as this.
const fills: Readonly<Record<Filler, Buffer>> = {
  'one long text': Buffer.alloc(BODY_BYTES_MAX, 'x'),
  'many small values': Buffer.alloc(BODY_BYTES_MAX, '[],'),
};

/** The members of the valid body, and one more that fills the rest. */
function hostileBody(valid: unknown, size: number, filler: Filler): readonly Uint8Array[] {
  const text = typeof valid === 'string' && valid.startsWith('{') ? valid.slice(0, -1) : '{';
  const [open, close] = filler === 'one long text' ? ['"', '"}'] : ['[', '[]]}'];
  const head = Buffer.from(`${text}${text === '{' ? '' : ','}"filler":${open}`);
  const room = size - head.length - close.length;
  const fill = fills[filler].subarray(0, room - (room % 3));
  return [head, fill, Buffer.from(close.padEnd(size - head.length - fill.length))];
}

/** The faults that a single trial shows, a sentence each. */
export function memoryFaults(
  { name, entry, character, status, offered, read, held, left }: MemoryTrial,
  perCallerMax: number,
): readonly string[] {
  const faults: string[] = [];
  if (left !== 0) faults.push(`${left} bytes are held after the answer`);
  if (held > perCallerMax) faults.push(`held ${held} bytes, above the bound of ${perCallerMax}`);
  const isRefused = character === 'stranger' || character === 'without rights';
  const isOpen = entry.authorizationClass === 'anonymous';
  if (isRefused && !isOpen && read > 0) faults.push(`${read} of ${offered} bytes are read behind ${status}`);
  if ((isRefused || isOpen) && held > 0) faults.push(`held ${held} bytes behind ${status}`);
  if (status >= 500) faults.push(`answered ${status}`);
  return faults.map((fault) => `${name} as ${character}: ${fault}`);
}
