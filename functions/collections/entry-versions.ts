import type { Clock } from '../kernel/world.ts';
import type { Head, RecordStore } from '../store/port.ts';
import { type EntryRange, isWithin, onlyVersion } from './entry-range.ts';
import { type EntryFormat, type EntryFormats, newestFormat } from './search/formats.ts';
import { entryMarksKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** After this time without a mark, no server of the version counts as running. */
const MARK_MS = 600_000;
/** A younger mark is not written again, and marks that were read less than this ago are not read again. */
const FRESH_MS = 60_000;
const ANNOUNCED_MAX = 1_000;

/** Times of the last marks by version. Each server marks the newest version that it knows. */
type Marks = ReadonlyMap<number, number>;

/** Which versions of search entries this process reads, and which one it writes. */
export class EntryVersions {
  readonly #store: () => Promise<RecordStore>;
  readonly #clock: Clock;
  readonly #formats: EntryFormats;
  readonly #chosen: number | null;
  readonly #newest: EntryFormat;
  /** The last read of the marks, and its time. */
  #read: { readonly at: number; readonly marks: Promise<Marks> } | null = null;
  readonly #announced = new Map<string, number>();

  /** `chosen` is the version that an operator has chosen; without it the marks decide. */
  constructor(
    store: () => Promise<RecordStore>,
    clock: Clock,
    formats: EntryFormats,
    chosen: number | null = null,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#formats = formats;
    this.#chosen = chosen;
    this.#newest = newestFormat(formats);
  }

  get newest(): number {
    return this.#newest.version;
  }

  /** The formats of the entries of a collection; `null` if this release cannot read all of them. */
  formatsIn(range: EntryRange): readonly EntryFormat[] | null {
    const formats = this.#formats;
    if (!isWithin(range, { from: formats[0].version, to: this.newest })) return null;
    return formats.filter(({ version }) => isWithin(onlyVersion(version), range));
  }

  /** The format of the entries that this process writes now: the previous format while a server of an older release may run. */
  async written(): Promise<EntryFormat> {
    const formats = this.#formats;
    if (formats.length === 1) return this.#newest;
    const named = formats.find(({ version }) => version === this.#chosen);
    if (named !== undefined) return named;
    return (await this.#runs((version) => version < this.newest)) ? formats[0] : this.#newest;
  }

  /** Whether a server of a newer release may run. */
  isNewerRunning(): Promise<boolean> {
    return this.#runs((version) => version > this.newest);
  }

  /** Marks that a server of this release runs. A fleet writes the mark about once a minute. */
  async mark(): Promise<void> {
    this.#read = null;
    const now = this.#clock.now();
    if (now - ((await this.#marks()).get(this.newest) ?? -Infinity) < FRESH_MS) return;
    const key = entryMarksKey();
    const store = await this.#store();
    await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, (found) => {
      const head = { ...found.get(key)?.head, [`v${this.newest}`]: now };
      return { writes: [{ put: { key, head, body: null, listing: upkeepListing(key) } }], result: null };
    });
  }

  /** Whether this process may announce the incarnation to upkeep: at most once a minute. */
  mayAnnounce(incarnation: string): boolean {
    const now = this.#clock.now();
    // Also after a clock was set back.
    if (Math.abs(now - (this.#announced.get(incarnation) ?? -Infinity)) < FRESH_MS) return false;
    if (this.#announced.size >= ANNOUNCED_MAX) this.#announced.clear();
    this.#announced.set(incarnation, now);
    return true;
  }

  async #runs(isMeant: (version: number) => boolean): Promise<boolean> {
    const now = this.#clock.now();
    return [...(await this.#marks())].some(([version, at]) => isMeant(version) && now - at < MARK_MS);
  }

  #marks(): Promise<Marks> {
    const now = this.#clock.now();
    if (this.#read !== null && Math.abs(now - this.#read.at) < FRESH_MS) return this.#read.marks;
    const marks = this.#readMarks();
    this.#read = { at: now, marks };
    marks.catch(() => {
      this.#read = null;
    });
    return marks;
  }

  async #readMarks(): Promise<Marks> {
    const keys = [{ key: entryMarksKey() }];
    const [found] = (await (await this.#store()).query(UPKEEP_SCOPE, { by: 'keys', keys })).records;
    return marksIn(found?.head ?? {});
  }
}

function marksIn(head: Head): Marks {
  const marks = Object.entries(head).map(([name, at]) => [/^v(\d+)$/.exec(name)?.[1], at] as const);
  return new Map(
    marks.flatMap(([version, at]) => (version === undefined ? [] : [[Number(version), Number(at)]])),
  );
}
