import type { TurnRoom } from '../../kernel/turn-room.ts';
import { nextTurn } from '../../kernel/turns.ts';
import type { Clock } from '../../kernel/world.ts';
import { StoreError } from '../port.ts';
import type { FoundNearest, NearestRequest } from '../search.ts';
import { dimensionsMax } from './arena.ts';
import { Bounds } from './bounds.ts';
import { NearestCandidates } from './candidates.ts';
import { rowsPerPage, scanExactly } from './exact-scan.ts';
import type { LoadedSlot } from './loaded-slot.ts';
import { LoadedSlots } from './loaded-slots.ts';
import { bytesOfMatrix, NoRoom } from './matrix.ts';
import { scanAll, scanSome } from './matrix-scan.ts';
import { Rescoring, rescore } from './rescore.ts';
import type { VectorRows, VectorSlotState } from './vector-rows.ts';

export interface NearestOptions {
  /** Memory that the vectors of all slots may take together. */
  readonly bytesMax: number;
  readonly clock: Clock;
  /** The room in which searches take turns with other long work; without it each search takes turns alone. */
  readonly turns?: TurnRoom | undefined;
  /** Lets the other calls of the process work, as part of the work of the owner. */
  readonly turn?: (owner: string) => Promise<void>;
  /** Each search reads a slot of at most this many rows from the database. */
  readonly rowsUnloaded?: number;
  /** Bytes of a matrix that a scan reads before the other calls get their turn. */
  readonly bytesPerTurn?: number;
  /** Rows that are read at once to load a matrix. */
  readonly loadedPerPage?: (dimensions: number) => number;
}

/** About a millisecond. */
const BYTES_PER_TURN = 16e6;

/** Records that `among` names at most; of more, a search of the whole group costs less. */
const AMONG_MAX = 4096;
/** A search among at most this many records reads them from the database, also when the matrix is loaded. */
const AMONG_READ = 64;
/** A scan is repeated when writes change the matrix during it; the last try makes no pause, so that no write can. */
const SCANS = 3;

/**
 * Searches by vector for the SQL providers. A store has one for all its scopes: it keeps the slots that it has read,
 * and each search updates them to its own moment.
 */
export class NearestSearch {
  readonly #options: Required<Omit<NearestOptions, 'turns'>>;
  readonly #slots: LoadedSlots;

  constructor({ turns, ...options }: NearestOptions) {
    this.#options = {
      turn: turns === undefined ? nextTurn : (owner) => turns.pause(owner),
      rowsUnloaded: 64,
      bytesPerTurn: BYTES_PER_TURN,
      loadedPerPage: rowsPerPage,
      ...options,
    };
    this.#slots = new LoadedSlots(options.bytesMax, options.clock);
  }

  /** Memory that is in use for vectors. */
  get bytes(): number {
    return this.#slots.bytes;
  }

  /** The nearest records at the moment of `rows`, exact in score and order. */
  async find(rows: VectorRows, request: NearestRequest): Promise<FoundNearest> {
    const state = await rows.state();
    if (state === null) return { matches: [], complete: true, narrowed: false, reads: 0 };
    const ids = await this.#among(rows, request);
    if (ids !== null) return await this.#findAmong(rows, state, request, ids);
    const found =
      this.#isLoadable(state, request) && this.#hasRoom(rows, state, request)
        ? await this.#findInMatrix(rows, state, request, null)
        : null;
    return found ?? (await this.#scan(rows, state, request));
  }

  #among(rows: VectorRows, { among, readsMax }: NearestRequest): Promise<readonly string[] | null> {
    return among === undefined ? Promise.resolve(null) : rows.among(among, Math.min(AMONG_MAX, readsMax));
  }

  async #findAmong(
    rows: VectorRows,
    state: VectorSlotState,
    request: NearestRequest,
    ids: readonly string[],
  ): Promise<FoundNearest> {
    const few = Math.max(AMONG_READ, request.limit);
    if (ids.length > few && this.#slots.has(state.slot)) {
      const found = await this.#findInMatrix(rows, state, request, ids);
      if (found !== null) return found;
    }
    const rescoring = new Rescoring(rows, request);
    const complete = await rescoring.score(ids);
    return await answered(rescoring, complete, true);
  }

  /**
   * A matrix is not started when it cannot hold the slot, or when all its rows would be read again for their scores.
   */
  #isLoadable({ rows }: VectorSlotState, { values, limit }: NearestRequest): boolean {
    return (
      rows > Math.max(this.#options.rowsUnloaded, limit) &&
      values.length <= dimensionsMax &&
      bytesOfMatrix(rows, values.length) <= this.#options.bytesMax
    );
  }

  #hasRoom({ owner }: VectorRows, { slot, rows }: VectorSlotState, { values }: NearestRequest): boolean {
    const bytes = bytesOfMatrix(rows, values.length);
    return this.#slots.has(slot) || this.#slots.hasRoomFor(slot, owner, bytes);
  }

  /** `null`: the matrix cannot answer, because memory is short or the matrix is too far ahead of the moment. */
  async #findInMatrix(
    rows: VectorRows,
    state: VectorSlotState,
    request: NearestRequest,
    among: readonly string[] | null,
  ): Promise<FoundNearest | null> {
    for (;;) {
      const slot = this.#slots.pin(state.slot, rows.owner, request.values.length);
      try {
        checkDimensions(slot, request);
        const { loadedPerPage } = this.#options;
        const readiness = await slot.bringTo(rows, state, {
          turn: () => this.turn(rows.owner),
          loadedPerPage,
        });
        if (readiness === 'ahead') return null;
        if (readiness === 'ready') return await this.#findIn(slot, rows, state, request, among);
        this.#slots.drop(state.slot, slot);
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        this.#slots.drop(state.slot, slot);
        return null;
      } finally {
        this.#slots.unpin(slot);
      }
    }
  }

  async #findIn(
    slot: LoadedSlot,
    rows: VectorRows,
    { version }: VectorSlotState,
    request: NearestRequest,
    among: readonly string[] | null,
  ): Promise<FoundNearest | null> {
    const { bytesPerTurn } = this.#options;
    const turn = () => this.turn(rows.owner);
    const bounds = new Bounds(request.metric, request.values);
    for (let scan = 1; scan <= SCANS; scan += 1) {
      const candidates = await candidatesIn(slot, version, {
        bounds,
        among,
        limit: request.limit,
        turn: scan === SCANS ? null : turn,
        bytesPerTurn,
      });
      if (candidates === null) continue;
      const rescoring = new Rescoring(rows, request);
      const within = among === null ? null : new Set(among);
      const work = { rescoring, slot, version, candidates, among: within, turn };
      const end = await rescore(work);
      return end === 'passed' ? null : await answered(rescoring, end === 'done', among !== null);
    }
    return null;
  }

  /** Reads every vector of the moment. */
  async #scan(rows: VectorRows, state: VectorSlotState, request: NearestRequest): Promise<FoundNearest> {
    const tooMany = state.rows > request.readsMax;
    // The slot does fit: other searches hold the memory, or the moment has passed. A later try finds it loaded.
    if (tooMany && this.#isLoadable(state, request)) {
      throw new StoreError('unavailable', 'the vectors of a slot are not in memory yet');
    }
    // Makes no read that is known not to suffice; `rows` may be an estimate.
    if (state.rows > 2 * request.readsMax) return { matches: [], complete: false, narrowed: false, reads: 0 };
    return await scanExactly(rows, request, () => this.turn(rows.owner));
  }

  /** Lets the other calls of the process work, as part of the work of the owner. */
  turn(owner: string): Promise<void> {
    return this.#options.turn(owner);
  }
}

interface Selection {
  readonly bounds: Bounds;
  readonly limit: number;
  readonly among: readonly string[] | null;
  /** Awaited between parts of a search, so that other calls run; `null`: no pause. */
  readonly turn: (() => Promise<void>) | null;
  readonly bytesPerTurn: number;
}

/** `null`: the matrix changed during the search, so that too few candidates are left, or it is too far ahead. */
async function candidatesIn(
  { matrix, log }: LoadedSlot,
  version: number,
  { bounds, limit, among, turn, bytesPerTurn }: Selection,
): Promise<NearestCandidates | null> {
  const changed = log.idsAbove(version);
  if (changed === null) return null;
  const candidates = new NearestCandidates(limit);
  const masked = new Set([...changed].map((id) => matrix.positionOf(id)).filter((at) => at !== -1));
  if (among === null) {
    for (const _ of scanAll(matrix, { bounds, masked }, candidates, bytesPerTurn))
      if (turn !== null) await turn();
  } else {
    scanSome(matrix, { bounds, masked }, candidates, matrix.positionsOf(among));
  }
  const later = log.idsAbove(version);
  // The bound of a row that has changed does not hold for the moment.
  const isValid = later !== null && !candidates.holders.some((at) => later.has(matrix.idAt(at)));
  return isValid ? candidates : null;
}

function checkDimensions({ matrix }: LoadedSlot, { values }: NearestRequest): void {
  if (matrix.dimensions === values.length) return;
  throw new StoreError(
    'corrupt',
    `a slot has vectors of ${matrix.dimensions} and of ${values.length} dimensions`,
  );
}

async function answered(rescoring: Rescoring, complete: boolean, narrowed: boolean): Promise<FoundNearest> {
  const { reads } = rescoring;
  return { matches: complete ? await rescoring.result() : [], complete, narrowed, reads };
}
