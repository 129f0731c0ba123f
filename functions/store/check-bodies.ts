import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import { isDamage } from './damage.ts';
import type { BodyPage, HashedBodies, HashedBody } from './hashed-bodies.ts';
import { type RecordKey, type RecordStore, type Scope, StoreError } from './port.ts';

/**
 * The most bodies that a check reads in a minute. A page without bodies counts as one, because databases bill it so.
 * @testonly
 */
export const BODIES_A_SHARE = 500;
/** @testonly */
export const BYTES_A_SHARE = 32 * 1024 * 1024;
const SHARE_MS = 60_000;
/** After this many failed reads in a row the check assumes that the blob store is out of reach. */
const FAILED_MAX = 3;
/** After this many shares in a row that fail at the same bodies, the check skips those bodies. */
const AWAY_MAX = 10;
/**
 * The time from the start of one check of all bodies to the start of the next.
 * @testonly
 */
export const PERIOD_MS = 30 * 24 * 3_600_000;

export interface BodyCheckParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: Pick<World, 'clock' | 'turns'>;
  readonly log: Log;
  /** Receives the failure of a read. */
  readonly saw: (error: unknown) => void;
  readonly bodies: () => readonly HashedBodies[];
  /** Where the position is kept between shares, for all processes. */
  readonly at: { readonly scope: Scope; readonly key: RecordKey };
}

interface Position {
  /** When the first body was read, of this time. */
  readonly begunAt: number;
  readonly kind: string | null;
  readonly after: string | null;
  /** The place of the last body read on the page at that position; `null` for none. */
  readonly read: string | null;
  /** Shares in a row that ended with bodies that could not be read. */
  readonly away: number;
}

interface Taken {
  readonly due: number;
  readonly position: Position | null;
}

/**
 * Reads all bodies that have a hash, a share a minute, in one process of the deployment. Logs each damaged body, and hands the
 * failure to `saw`.
 */
export class BodyCheck {
  readonly #parts: BodyCheckParts;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(parts: BodyCheckParts) {
    this.#parts = parts;
  }

  async share(isOver: () => boolean): Promise<void> {
    const { clock } = this.#parts.world;
    // Other processes may have checked meanwhile, so the position is read again when the time of the next share has
    // come.
    if (clock.now() < this.#nextAt) return;
    const position = await this.#take();
    if (position === null) return;
    const walk = new ShareWalk(this.#parts, position);
    try {
      await walk.go(isOver);
    } finally {
      await this.#move(walk.reached);
    }
  }

  /** The position of the next share; `null` when another process took the one of this minute. */
  async #take(): Promise<Position | null> {
    const { store, at, world } = this.#parts;
    const now = world.clock.now();
    const request = { keys: [{ key: at.key, view: 'body' as const }] };
    const taken = await (await store()).transact<Taken>(at.scope, request, (found) => {
      const record = found.get(at.key);
      const due = Number(record?.head['nextAt'] ?? now);
      // A clock that was ahead must not put the next share off.
      if (due > now && due <= now + PERIOD_MS) return { writes: [], result: { due, position: null } };
      const position = record?.body ? (JSON.parse(record.body) as Position) : beginAt(now);
      const put = { key: at.key, head: { nextAt: now + SHARE_MS }, body: JSON.stringify(position) };
      return { writes: [{ put }], result: { due: now + SHARE_MS, position } };
    });
    this.#nextAt = taken.due;
    return taken.position;
  }

  async #move(position: Position): Promise<void> {
    const { store, at, world } = this.#parts;
    const now = world.clock.now();
    const isAtEnd = position.kind === null;
    const nextAt = isAtEnd ? Math.max(now + SHARE_MS, position.begunAt + PERIOD_MS) : this.#nextAt;
    const body = JSON.stringify(isAtEnd ? beginAt(nextAt) : position);
    await (await store()).transact(at.scope, { keys: [{ key: at.key }], frees: true }, () => ({
      writes: [{ put: { key: at.key, head: { nextAt }, body } }],
      result: null,
    }));
    this.#nextAt = nextAt;
  }
}

class ShareWalk {
  readonly #parts: BodyCheckParts;
  #reached: Position;
  #bytes = 0;
  /** The last bodies that could not be read, and the position before them. */
  #failed: { readonly from: Position; readonly count: number } | null = null;

  constructor(parts: BodyCheckParts, from: Position) {
    this.#parts = parts;
    this.#reached = from;
  }

  /** Before the last bodies where these could not be read: they are tried again. */
  get reached(): Position {
    const from = this.#failed?.from;
    if (from === undefined || from.away >= AWAY_MAX) return this.#reached;
    return { ...from, away: from.away + 1 };
  }

  async go(isOver: () => boolean): Promise<void> {
    const kinds = this.#parts.bodies();
    // A body may have 64 MiB, so this is asked before each one.
    const ends = () => this.#bytes >= BYTES_A_SHARE || this.#failed?.count === FAILED_MAX || isOver();
    if (!kinds.some(({ kind }) => kind === this.#reached.kind)) this.#enter(kinds[0]);
    for (let reads = 0; reads < BODIES_A_SHARE && !ends(); ) {
      const at = kinds.findIndex(({ kind }) => kind === this.#reached.kind);
      const bodies = kinds[at];
      if (bodies === undefined) return;
      const page = await this.#page(bodies, this.#reached.after);
      reads += Math.max(1, page.bodies.length);
      if (!(await this.#bodies(bodies, page, ends))) return;
      if (page.next === null) this.#enter(kinds[at + 1]);
      else this.#reached = { ...this.#reached, after: page.next, read: null };
    }
  }

  #enter(bodies: HashedBodies | undefined): void {
    this.#reached = { ...this.#reached, kind: bodies?.kind ?? null, after: null, read: null };
  }

  /** Whether the page was read to its end. */
  async #bodies(bodies: HashedBodies, page: BodyPage, ends: () => boolean): Promise<boolean> {
    const turns = this.#parts.world.turns.of('bodies');
    const last = page.bodies.findIndex(({ place }) => place === this.#reached.read);
    for (const body of page.bodies.slice(last + 1)) {
      if (ends()) return false;
      await this.#body(bodies, body);
      if (turns.due()) await turns.next();
    }
    return true;
  }

  /** A damaged page ends the check of its kind for this time: the bodies behind it cannot be found. */
  async #page(bodies: HashedBodies, after: string | null): Promise<BodyPage> {
    try {
      return await bodies.page(after);
    } catch (error) {
      // The database refuses an old position: begin this kind of bodies again.
      if (!(error instanceof StoreError) && after !== null) return bodies.page(null);
      if (!isDamage(error)) throw error;
      this.#report(bodies, 'a list', error);
      return { bodies: [], next: null };
    }
  }

  async #body(bodies: HashedBodies, { place, verify }: HashedBody): Promise<void> {
    const before = this.#reached;
    this.#reached = { ...before, read: place };
    try {
      this.#bytes += await verify();
    } catch (error) {
      if (!isDamage(error)) {
        this.#failed = { from: this.#failed?.from ?? before, count: (this.#failed?.count ?? 0) + 1 };
        const failure = `${bodies.kind} ${place}: ${(error as Error).message}`;
        this.#parts.log({ severity: 'WARNING', message: UNREADABLE, failure });
        return;
      }
      this.#report(bodies, place, error);
    }
    this.#failed = null;
    this.#reached = { ...this.#reached, away: 0 };
  }

  #report({ kind, remedy }: HashedBodies, place: string, error: unknown): void {
    this.#parts.saw(error);
    const failure = `${kind} ${place}: ${(error as Error).message}`;
    this.#parts.log({ severity: 'ERROR', message: `A stored body is damaged. ${remedy}`, failure });
  }
}

const UNREADABLE =
  'A stored body could not be read. Check that the database and the files beside it can be read.';

function beginAt(now: number): Position {
  return { begunAt: now, kind: null, after: null, read: null, away: 0 };
}
