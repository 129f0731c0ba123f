import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember, pointerTo } from '../../kernel/errors.ts';

const NAME_LENGTH_MAX = 64;
const nameForm = /^[a-z_][a-z0-9_]*$/;
const RESERVED = 'svc_';
/** An HTTP field value that every client reads alike. HTTP strips white space at both ends of a value. */
const valueForm = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;
const FIELD_PREFIX = 'x-svc-meta-';

export type ObjectMetadata = Readonly<Record<string, string>>;

/**
 * The metadata in header fields `X-Svc-Meta-<name>`, in the order of their names. HTTP does not tell letters apart by case, so names are
 * lower-case. Throws `validation_failed` or `limit_exceeded`, also for a field that is sent twice.
 */
export function metadataInFields(fields: Iterable<readonly [name: string, value: string]>): ObjectMetadata {
  const entries: [string, string][] = [];
  for (const [field, value] of fields) {
    const name = field.toLowerCase();
    if (name.startsWith(FIELD_PREFIX)) entries.push([name.slice(FIELD_PREFIX.length), value.trim()]);
  }
  return readMetadata(entries, '');
}

/** The metadata in entries of a manifest below `pointer`, or of header fields. */
export function readMetadata(
  entries: readonly (readonly [name: string, value: string])[],
  pointer: string,
): ObjectMetadata {
  if (entries.length > limits.objectMetadataEntriesMax) {
    throw invalidMember(
      pointer,
      `must have at most ${limits.objectMetadataEntriesMax} entries of metadata`,
      'limit_exceeded',
    );
  }
  const read = new Map<string, string>();
  let bytes = 0;
  for (const [given, value] of entries) {
    const name = given.toLowerCase();
    const at = pointerTo(pointer, name);
    checkName(name, at);
    if (read.has(name)) throw invalidMember(at, 'must be given once');
    if (!valueForm.test(value)) {
      throw invalidMember(at, 'must hold printable ASCII, without white space at its ends');
    }
    bytes += name.length + value.length;
    read.set(name, value);
  }
  if (bytes > limits.objectMetadataBytesMax) {
    throw invalidMember(
      pointer,
      `must have at most ${limits.objectMetadataBytesMax} bytes of metadata`,
      'limit_exceeded',
    );
  }
  return Object.fromEntries([...read].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function checkName(name: string, pointer: string): void {
  if (name.length > NAME_LENGTH_MAX || !nameForm.test(name)) {
    throw invalidMember(
      pointer,
      `must begin with a letter or _ and have at most ${NAME_LENGTH_MAX} letters, digits and _`,
    );
  }
  if (name.startsWith(RESERVED)) throw invalidMember(pointer, `must not begin with ${RESERVED}`);
}

/** The header fields of an answer with this metadata. */
export function metadataFields(metadata: ObjectMetadata): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`X-Svc-Meta-${name}`, value]));
}
