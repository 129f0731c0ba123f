import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import { ErrorCode, invalidParams, McpError } from '../errors.ts';
import { isEarly, type OlderRevision, REVISION } from '../revisions.ts';
import { WrittenItems } from '../written-items.ts';
import { earlyContents, earlyMessages } from './contents.ts';

/** Answers in the members of an older revision. */

/** The members of a result that came with the newest revision. */
const newestMembers: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** Throws for an answer that no client of the revision understands. */
export function olderResult(revision: OlderRevision, result: JsonMembers): JsonMembers {
  const { resultType = 'complete' } = result;
  if (resultType !== 'complete') throw needsNewest();
  const entries = Object.entries(result).map(([name, value]): [string, unknown] => [
    name,
    memberFor(revision, name, value),
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The errors that are results of HTTP in the newest revision are messages with the status 200 in the older ones. */
export function olderError(error: McpError): McpError {
  if (error.code === ErrorCode.missingCapability) return needsNewest();
  if (error.code !== ErrorCode.unknownMethod && error.code !== ErrorCode.invalidParams) return error;
  return new McpError(error.code, error.message, error.data, { status: 200 });
}

function needsNewest(): McpError {
  return invalidParams(`Invalid params: only clients of the revision ${REVISION} can go on with this call`);
}

/** The member as the revision has it; `undefined` if it has none. */
function memberFor(revision: OlderRevision, name: string, value: unknown): unknown {
  if (newestMembers.has(name)) return undefined;
  const early = isEarly(revision);
  if (value instanceof WrittenItems) return value.map(early ? earlyDefinition : laterDefinition);
  if (name === 'structuredContent') return early || !isJsonObject(value) ? undefined : value;
  if (!early) return value;
  if (name === 'serverInfo') return picked(value as object, ['name', 'version']);
  if (name === 'content' || name === 'contents') return earlyContents(value as readonly JsonMembers[]);
  return name === 'messages' ? earlyMessages(value as readonly JsonMembers[]) : value;
}

const earlyMembers = [
  'uri',
  'uriTemplate',
  'name',
  'description',
  'mimeType',
  'size',
  'arguments',
  'inputSchema',
  'annotations',
];

/** Definitions are immutable and so is what is left of them, whose text is kept, too. */
const earlyDefinitions = new WeakMap<object, object>();
const laterDefinitions = new WeakMap<object, object>();

function earlyDefinition(definition: object): object {
  return keptIn(earlyDefinitions, definition, () => picked(definition, earlyMembers));
}

/** Older revisions know only structured content that is an object. */
function laterDefinition(definition: object): object {
  const { outputSchema } = definition as JsonMembers;
  const isObject = isJsonObject(outputSchema) && outputSchema['type'] === 'object';
  if (outputSchema === undefined || isObject) return definition;
  return keptIn(laterDefinitions, definition, () => ({ ...definition, outputSchema: undefined }));
}

function keptIn(kept: WeakMap<object, object>, definition: object, make: () => object): object {
  const known = kept.get(definition) ?? make();
  kept.set(definition, known);
  return known;
}

function picked(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}
