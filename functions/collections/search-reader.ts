import type { Find } from '../store/port.ts';
import type { RecordReader } from './candidates.ts';
import type { StoredText } from './rules/stored-text.ts';
import type { EntryFormat } from './search/formats.ts';
import { RECORDS } from './store-collections.ts';
import { storedText } from './stored-content.ts';

const BATCH_RECORDS_MAX = 50;
/** The characters of bodies that a batch should hold, about. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** The most characters of record texts that a search keeps for its answer. It reads texts beyond them again. */
const KEPT_CHARACTERS_MAX = 4 * 1024 * 1024;

export interface SearchReader extends RecordReader {
  readonly find: Find;
  readonly kept: KeptTexts;
  /** The formats of the entries of the collection. */
  readonly formats: readonly EntryFormat[];
}

/** Texts of records that the answer may need. */
export class KeptTexts {
  readonly #texts = new Map<string, StoredText>();
  #characters = 0;

  get(id: string): StoredText | undefined {
    return this.#texts.get(id);
  }

  /** Returns whether the text is kept. */
  offer(id: string, stored: StoredText): boolean {
    if (this.#characters + stored.text.length > KEPT_CHARACTERS_MAX) return false;
    this.#texts.set(id, stored);
    this.#characters += stored.text.length;
    return true;
  }
}

/** The texts of the records with these ids of the store, in their order. */
export async function* textsOf(
  reader: SearchReader,
  ids: readonly string[],
): AsyncGenerator<{ readonly id: string; readonly stored: StoredText }, void, undefined> {
  const { turns, pageMax = BATCH_RECORDS_MAX } = reader;
  const most = Math.min(BATCH_RECORDS_MAX, pageMax);
  let size = most;
  for (let start = 0; start < ids.length; ) {
    const batch = ids.slice(start, start + size);
    const read = await readTexts(reader, batch);
    let held = read.characters;
    reader.bytes.add(held);
    try {
      for (const id of batch) {
        const stored = read.texts.get(id) ?? reader.kept.get(id);
        if (stored === undefined) continue;
        if (read.texts.has(id) && reader.kept.offer(id, stored)) held -= stored.text.length;
        yield { id, stored };
        if (turns.due()) await turns.next();
      }
    } finally {
      reader.bytes.drop(held);
    }
    start += batch.length;
    const fitting = Math.floor((BATCH_CHARACTERS * read.texts.size) / Math.max(1, read.characters));
    size = read.texts.size === 0 ? most : Math.max(1, Math.min(most, fitting));
  }
}

interface ReadTexts {
  readonly texts: ReadonlyMap<string, StoredText>;
  readonly characters: number;
}

async function readTexts({ moment, budget, kept }: SearchReader, ids: readonly string[]): Promise<ReadTexts> {
  const missing = ids.filter((id) => kept.get(id) === undefined);
  if (missing.length === 0) return { texts: new Map(), characters: 0 };
  budget.room();
  const keys = missing.map((id) => ({ key: { collection: RECORDS.name, id }, view: 'body' }) as const);
  const { records } = await moment.query({ by: 'keys', keys });
  const texts = new Map(records.map((record) => [record.key.id, storedText(record)]));
  const characters = [...texts.values()].reduce((sum, { text }) => sum + text.length, 0);
  budget.spend(records.length, characters);
  return { texts, characters };
}
