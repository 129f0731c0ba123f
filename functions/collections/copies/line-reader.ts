import { canonicalValue } from '../../archives/canonical-value.ts';
import { count, members, nullOr, same, text } from '../../archives/checks.ts';
import type { LineChecks } from '../../archives/entry-reader.ts';
import { placed, SnapshotError } from '../../archives/snapshot-error.ts';
import { headFrom, idFrom, listingFrom } from '../../archives/stored-record.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { carriedSpaceCollections, SPACE_FORMAT, SPACE_VERSION, type SpaceEntry } from './archive-lines.ts';
import { EntryChecks, type EntryShapes } from './entry-checks.ts';

/** Reads lines strictly: it refuses every line that this format would not have written, with its number. */
export class LineReader implements LineChecks<SpaceEntry> {
  readonly #space: string;
  readonly #checks: EntryChecks;
  #line = 0;
  #last = '';

  constructor({ space }: { readonly space: string }, shapes: EntryShapes) {
    this.#space = space;
    this.#checks = new EntryChecks(shapes);
  }

  read(line: string): SpaceEntry | null {
    this.#line += 1;
    const value = canonicalValue(line, { line: this.#line });
    return placed({ line: this.#line }, () => (this.#line === 1 ? this.#head(value) : this.#entry(value)));
  }

  end(): void {
    if (this.#line === 0) throw new SnapshotError('incomplete', 'the head line is missing', { line: 1 });
  }

  #head(value: Json): null {
    const { format, version, space } = members(value, ['format', 'space', 'version'], '');
    same(format, SPACE_FORMAT, 'the name of the format of spaces', '/format');
    if (count(version, 1, Number.MAX_SAFE_INTEGER, '/version') > SPACE_VERSION) {
      const place = { line: 1, pointer: '/version' };
      throw new SnapshotError('newer_version', `is newer than version ${SPACE_VERSION}`, place);
    }
    same(space, this.#space, 'that of the manifest', '/space');
    return null;
  }

  #entry(value: Json): SpaceEntry {
    const entry = entryFrom(value);
    const place = `${entry.collection} ${entry.id}`;
    const line = this.#line;
    if (place === this.#last) throw new SnapshotError('duplicate', 'repeats the record before it', { line });
    if (place < this.#last)
      throw new SnapshotError('order', 'stands behind a record that it must precede', { line });
    this.#last = place;
    this.#checks.check(entry);
    return entry;
  }
}

function entryFrom(value: Json): SpaceEntry {
  const given = members(value, ['body', 'collection', 'head', 'id', 'listing'], '');
  const collection = text(given.collection, '/collection');
  if (!carriedSpaceCollections.includes(collection))
    throw invalidMember('/collection', 'names no collection that a copy of a space carries');
  return {
    collection,
    id: idFrom(given.id),
    head: headFrom(given.head),
    body: nullOr(text, given.body, '/body'),
    listing: nullOr(listingFrom, given.listing, '/listing'),
  };
}
