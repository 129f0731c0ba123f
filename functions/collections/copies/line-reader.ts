import { members, nullOr, same, text } from '../../archives/checks.ts';
import { checkedHead, type LineFormat } from '../../archives/line-reader.ts';
import { headFrom, idFrom, listingFrom } from '../../archives/stored-record.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { carriedSpaceCollections, type SpaceEntry, spaceHead } from './archive-lines.ts';
import { EntryChecks, type EntryShapes } from './entry-checks.ts';

/** How the lines of the archive of a space are read. */
export function spaceFormat(space: string, shapes: EntryShapes): LineFormat<SpaceEntry> {
  const checks = new EntryChecks(shapes);
  return {
    checkHead: (value) => {
      const head = checkedHead(spaceHead, value, ['space']);
      same(head.space, space, 'that of the manifest', '/space');
    },
    entryOf: (value) => {
      const entry = entryFrom(value);
      return { entry, key: { collection: entry.collection, id: entry.id } };
    },
    check: (entry) => checks.check(entry),
  };
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
