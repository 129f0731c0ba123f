/** Documents of Firestore, as its REST interface writes them, as documents of the service. Pure. */

/** A value of the REST interface: an object with one member, which names the type. */
export type FirestoreValue = Readonly<Record<string, unknown>>;

export interface FirestoreDocument {
  /** `projects/<project>/databases/<database>/documents/<path>` */
  readonly name: string;
  readonly fields?: Readonly<Record<string, FirestoreValue>>;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export interface ImportedDocument {
  readonly tenantId: string;
  readonly documentType: string;
  readonly id: string;
  readonly schemaVersion: string;
  readonly data: { readonly [name: string]: Json };
  readonly indexes: Readonly<Record<string, string>>;
}

const NAME_LENGTH_MAX = 160;
const DATA_BYTES_MAX = 900_000;

export class Refused extends Error {}

/**
 * `claims/1042/notes/n1` is the document `1042/n1` of the type `claims.notes`: the collections make the type, and the ids make
 * the id. `indexes` names fields by their type: `{ claims: ['status'] }`.
 */
export function imported(
  { name, fields = {} }: FirestoreDocument,
  tenantId: string,
  indexes: Readonly<Record<string, readonly string[]>>,
): ImportedDocument {
  const path = /^projects\/[^/]+\/databases\/[^/]+\/documents\/(.+)$/.exec(name)?.[1] ?? '';
  const parts = path.split('/');
  if (path === '' || parts.length % 2 === 1) throw new Refused(`${name} is no name of a document.`);
  const documentType = parts.filter((_, at) => at % 2 === 0).join('.');
  const id = parts.filter((_, at) => at % 2 === 1).join('/');
  for (const each of [documentType, id])
    if (each.length > NAME_LENGTH_MAX || each.trim() !== each)
      throw new Refused(
        `${path}: "${each}" is longer than ${NAME_LENGTH_MAX} characters, or has white space at an end.`,
      );
  const data = objectOf(fields, path);
  if (Buffer.byteLength(JSON.stringify(data)) > DATA_BYTES_MAX)
    throw new Refused(
      `${path} has more than ${DATA_BYTES_MAX} bytes: keep its large part as an object or an artifact.`,
    );
  const projected = (indexes[documentType] ?? []).flatMap((field) => {
    const value = data[field];
    return typeof value === 'string' && value !== '' ? [[field, value] as const] : [];
  });
  return { tenantId, documentType, id, schemaVersion: '1', data, indexes: Object.fromEntries(projected) };
}

function objectOf(fields: Readonly<Record<string, FirestoreValue>>, path: string) {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, jsonOf(value, `${path} ${field}`)]),
  );
}

type Fields = Readonly<Record<string, FirestoreValue>>;

/** Times, bytes and references become texts, and so do numbers that JSON would change. */
function jsonOf(value: FirestoreValue, place: string): Json {
  const [type, content] = Object.entries(value)[0] ?? ['', null];
  switch (type) {
    case 'nullValue':
      return null;
    case 'booleanValue':
    case 'stringValue':
    case 'timestampValue':
    case 'bytesValue':
      return content as boolean | string;
    case 'integerValue':
      return Number.isSafeInteger(Number(content)) ? Number(content) : String(content);
    case 'doubleValue':
      return typeof content === 'number' ? content : String(content);
    case 'referenceValue':
      return String(content).replace(/^.*?\/documents\//, '');
    case 'geoPointValue': {
      const { latitude = 0, longitude = 0 } = content as { latitude?: number; longitude?: number };
      return { latitude, longitude };
    }
    case 'arrayValue':
      return ((content as { values?: FirestoreValue[] }).values ?? []).map((item) => jsonOf(item, place));
    case 'mapValue': {
      const { fields = {} } = content as { fields?: Fields };
      const isVector = fields['__type__']?.['stringValue'] === '__vector__';
      return isVector ? jsonOf(fields['value'] ?? {}, place) : objectOf(fields, place);
    }
    default:
      throw new Refused(`${place} has a value of the type ${JSON.stringify(type)}, which is not known.`);
  }
}
