import type { RecordParts } from '../../functions/collections/parts.ts';
import { nextFormat, thisFormat } from './next-entries.ts';
import type { TwoReleases, Verdict } from './two-releases.ts';

const MINUTE_MS = 60_000;
/** Longer than the rest of a sweep, and than a mark counts. */
const REST_MS = 600_001;
const STOPS_MAX = 1_000;

export interface ReleasesEffort {
  readonly records: number;
  /** Pages of a sweep between two checks of the searches. */
  readonly pages: number;
  /** Each check makes one search in this many, the next check makes others; without it all. */
  readonly every?: number;
}

/** The first wrong observation, as a sentence; `null` without one. */
export type Fault = string | null;

class Seen extends Error {}

function demand(isRight: boolean, what: string): void {
  if (!isRight) throw new Seen(what);
}

/** Both releases at work, the older one stops, the newer one takes its own version, and the operator takes it back. */
export async function upgradeAndBack(releases: TwoReleases, effort: ReleasesEffort): Promise<Fault> {
  const life = new Life(releases, effort);
  try {
    await life.beside();
    await life.olderStops();
    await life.sweep(releases.newer, nextFormat.version, 'sweep to the next version');
    await life.answered(releases.newer, 'newer alone');
    demand((await releases.verdict(releases.older)) === 'refused', 'older reads the next version');
    await life.backward();
    return null;
  } catch (error) {
    if (error instanceof Seen) return error.message;
    throw error;
  }
}

/** A rollback to the older release, without notice to the newer one. */
export async function olderAloneAgain(releases: TwoReleases, effort: ReleasesEffort): Promise<Fault> {
  const life = new Life(releases, effort);
  const { newer, older, world } = releases;
  try {
    await releases.begin(newer);
    await releases.write(
      newer,
      life.numbers(() => true),
    );
    demand(await life.hasRange(nextFormat.version, nextFormat.version), 'newer writes the older version');
    await releases.upkeep(newer);
    demand((await releases.verdict(older)) === 'refused', 'older reads the next version');
    await releases.upkeep(older);
    demand(await life.hasRange(nextFormat.version, nextFormat.version), 'older sweeps beside the newer one');
    world.advance(REST_MS);
    demand((await releases.verdict(older)) === 'refused', 'older reads the next version');
    await life.sweep(older, thisFormat.version, 'older sweeps back', { isRefused: true });
    await life.answered(older, 'older alone');
    return null;
  } catch (error) {
    if (error instanceof Seen) return error.message;
    throw error;
  }
}

/** The older release runs again beside the newer one, which alone knows the entries and is not searched. */
export async function olderBesideNewerAgain(releases: TwoReleases, effort: ReleasesEffort): Promise<Fault> {
  const life = new Life(releases, effort);
  const { newer, older, world } = releases;
  try {
    await releases.begin(newer);
    await releases.write(
      newer,
      life.numbers(() => true),
    );
    demand(await life.hasRange(nextFormat.version, nextFormat.version), 'newer writes the older version');
    for (let minute = 0; !(await life.hasRange(thisFormat.version, thisFormat.version)); minute += 1) {
      demand(minute < STOPS_MAX, 'newer sweeps back for the older one');
      const verdict = await releases.verdict(older, minute, effort.every);
      demand(verdict !== 'wrong', 'older answers wrong');
      const both = minute % 3 === 0 ? [newer, older] : [older, newer];
      for (const each of both) await releases.upkeep(each, 1);
      world.advance(MINUTE_MS);
    }
    await life.answered(older, 'older again');
    await life.answered(newer, 'newer beside the older one again');
    return null;
  } catch (error) {
    if (error instanceof Seen) return error.message;
    throw error;
  }
}

class Life {
  readonly #releases: TwoReleases;
  readonly #effort: ReleasesEffort;
  #turn = 1;
  #looks = 0;

  constructor(releases: TwoReleases, effort: ReleasesEffort) {
    this.#releases = releases;
    this.#effort = effort;
  }

  numbers(isMeant: (n: number) => boolean): readonly number[] {
    return Array.from({ length: this.#effort.records }, (_, n) => n).filter(isMeant);
  }

  async hasRange(from: number, to: number): Promise<boolean> {
    const { entriesFrom, entriesTo } = await this.#releases.head();
    return entriesFrom === from && entriesTo === to;
  }

  async answered(parts: RecordParts, when: string): Promise<void> {
    this.#looks += 1;
    const verdict: Verdict = await this.#releases.verdict(parts, this.#looks, this.#effort.every);
    demand(verdict === 'equal', `${when}: ${verdict}`);
  }

  /** Writes some records again and removes one. */
  async change(parts: RecordParts): Promise<void> {
    const releases = this.#releases;
    this.#turn += 1;
    const { records } = this.#effort;
    await releases.write(
      parts,
      [this.#turn * 7, this.#turn * 11 + 3].map((n) => n % records),
      this.#turn,
    );
    await releases.remove(parts, (this.#turn * 13 + 5) % records);
  }

  /** Both releases write and search at the same time. */
  async beside(): Promise<void> {
    const releases = this.#releases;
    const { older, newer, world } = releases;
    await releases.begin(older);
    await releases.upkeep(older);
    await releases.upkeep(newer);
    await Promise.all([
      releases.write(
        older,
        this.numbers((n) => n % 2 === 0),
      ),
      releases.write(
        newer,
        this.numbers((n) => n % 2 === 1),
      ),
    ]);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([
        this.answered(older, 'older beside newer'),
        this.answered(newer, 'newer beside older'),
        releases.writeAside(older, round * 10),
        releases.writeAside(newer, round * 10 + 5),
      ]);
      await this.change(older);
      await this.change(newer);
      world.advance(2 * MINUTE_MS);
      await releases.upkeep(newer);
      await releases.upkeep(older);
    }
    demand(
      await this.hasRange(thisFormat.version, thisFormat.version),
      'newer writes its version beside the older',
    );
  }

  /** The newer one goes over once the last mark of the older one is ten minutes old. */
  async olderStops(): Promise<void> {
    const releases = this.#releases;
    const { older, newer, world } = releases;
    world.advance(9 * MINUTE_MS);
    await this.change(newer);
    demand(await this.hasRange(thisFormat.version, thisFormat.version), 'newer goes over too early');
    await this.answered(older, 'older within ten minutes');
    world.advance(2 * MINUTE_MS);
    await this.change(newer);
    demand(await this.hasRange(thisFormat.version, nextFormat.version), 'newer does not go over');
    await this.answered(newer, 'newer with entries of both');
  }

  /**
   * Sweeps in pages, with changes and searches between them. A call of the older release that ends late writes a record behind
   * which the sweep has come.
   */
  async sweep(parts: RecordParts, version: number, when: string, { isRefused = false } = {}): Promise<void> {
    const releases = this.#releases;
    const { older, world } = releases;
    let late = isRefused ? null : older;
    for (let stop = 0; !(await this.hasRange(version, version)); stop += 1) {
      demand(stop < STOPS_MAX, `${when} has no end`);
      const prepared = await releases.upkeep(parts, this.#effort.pages);
      if (!isRefused) await this.answered(parts, `${when}, stop ${stop}`);
      await this.change(parts);
      if (prepared === 0) world.advance(REST_MS);
      else if (late !== null) {
        await releases.write(late, [0, 3, 6], 1_000 + stop);
        late = null;
      }
    }
  }

  /** The operator names the older version, and then runs the older release again. */
  async backward(): Promise<void> {
    const { older, pinned } = this.#releases;
    await this.answered(pinned, 'newer with the older version chosen');
    await this.sweep(pinned, thisFormat.version, 'sweep to the older version');
    await this.answered(pinned, 'newer after the way back');
    await this.answered(older, 'older after the way back');
  }
}
