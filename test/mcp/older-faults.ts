import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { isJsonObject } from '../../functions/kernel/json-kinds.ts';
import type { OlderRevision } from '../../functions/mcp/revisions.ts';
import schema0326 from './schemas/2025-03-26.json' with { type: 'json' };
import schema0618 from './schemas/2025-06-18.json' with { type: 'json' };
import schema1125 from './schemas/2025-11-25.json' with { type: 'json' };
import { messagesOf } from './support.ts';

/** The oracle of answers of older revisions: the schema of the revision, its members alone, and the statuses of HTTP. */

type Definitions = Readonly<Record<string, { readonly properties?: object }>>;
interface Wire {
  /** The faults of a value by the definition of the name. */
  readonly faults: (name: string, value: unknown) => string[];
  /** The members that the definition names. */
  readonly members: (name: string) => readonly string[];
  readonly errorName: string;
}

const options = { strict: false, validateFormats: false } as const;

function wireOf(ajv: Ajv | Ajv2020, schema: object, place: string, errorName: string): Wire {
  ajv.addSchema(schema, 'wire');
  const definitions = (schema as Record<string, Definitions>)[place] ?? {};
  return {
    errorName,
    faults(name, value) {
      const validate = ajv.getSchema(`wire#/${place}/${name}`);
      if (!validate) return [`no definition of ${name}`];
      return validate(value) === true ? [] : [`${name}: ${ajv.errorsText(validate.errors)}`];
    },
    members: (name) => Object.keys(definitions[name]?.properties ?? {}),
  };
}

const wires: Readonly<Record<OlderRevision, Wire>> = {
  '2025-03-26': wireOf(new Ajv(options), schema0326, 'definitions', 'JSONRPCError'),
  '2025-06-18': wireOf(new Ajv(options), schema0618, 'definitions', 'JSONRPCError'),
  '2025-11-25': wireOf(new Ajv2020(options), schema1125, '$defs', 'JSONRPCErrorResponse'),
};

/** The definitions of a result, and of the items of a list in it. */
const results: Readonly<Record<string, readonly [result: string, list?: string, item?: string]>> = {
  initialize: ['InitializeResult'],
  ping: ['EmptyResult'],
  'tools/list': ['ListToolsResult', 'tools', 'Tool'],
  'tools/call': ['CallToolResult'],
  'resources/list': ['ListResourcesResult', 'resources', 'Resource'],
  'resources/templates/list': ['ListResourceTemplatesResult', 'resourceTemplates', 'ResourceTemplate'],
  'resources/read': ['ReadResourceResult'],
  'prompts/list': ['ListPromptsResult', 'prompts', 'Prompt'],
  'prompts/get': ['GetPromptResult'],
  'completion/complete': ['CompleteResult'],
};

const inBand = new Set([-32601, -32602, -32603, -32002]);
const ofHttp = new Set([-32700, -32600, -32020, -32022]);

/** The faults of an answer to the request with the id 1, as sentences. */
export function olderFaults(response: InjectedResponse, method: string, revision: OlderRevision): string[] {
  const wire = wires[revision];
  const messages = messagesOf(response);
  const last = messages.at(-1) ?? {};
  if (isUnread(last)) return unreadFaults(response, last);
  const isStream = response.headers['content-type'] === 'text/event-stream';
  return [
    ...(isStream || messages.length === 1 ? [] : ['not one message']),
    ...messages.slice(0, -1).flatMap((message) => wire.faults('ProgressNotification', message)),
    ...(last['id'] === 1 ? [] : ['another id']),
    ...(Object.hasOwn(response.headers, 'mcp-session-id') ? ['a session'] : []),
    ...(isJsonObject(last['error'])
      ? errorFaults(wire, last, last['error'], isStream ? null : response.status)
      : resultFaults(wire, last, method, response.status)),
  ];
}

/** Whether the message refuses a body whose id was not read. */
function isUnread({ error, ...message }: Record<string, unknown>): boolean {
  const codes: readonly unknown[] = [-32700, -32600];
  return isJsonObject(error) && codes.includes(error['code']) && typeof message['id'] !== 'number';
}

/**
 * Without a readable id the refusal has no member `id` (decision 0040). The schemas of 2025-03-26 and 2025-06-18 describe no such message,
 * so that of 2025-11-25 judges it in every revision.
 */
function unreadFaults({ status, headers }: InjectedResponse, message: Record<string, unknown>): string[] {
  const wire = wires['2025-11-25'];
  return [
    ...(Object.hasOwn(message, 'id') ? ['an id that was not read'] : []),
    ...(status === 400 ? [] : [`an unread body with ${status}`]),
    ...(headers['content-type'] === 'application/json' ? [] : ['an unread body answered as a stream']),
    ...(Object.hasOwn(headers, 'mcp-session-id') ? ['a session'] : []),
    ...foreign(wire, wire.errorName, message),
    ...wire.faults(wire.errorName, message),
  ];
}

function errorFaults(
  wire: Wire,
  message: object,
  error: Readonly<Record<string, unknown>>,
  status: number | null,
) {
  const { code } = error;
  const expected = inBand.has(Number(code)) ? 200 : ofHttp.has(Number(code)) ? 400 : undefined;
  return [
    ...wire.faults(wire.errorName, message),
    ...(expected === undefined ? [`the code ${String(code)}`] : []),
    ...(status === null || status === expected ? [] : [`${String(code)} with ${status}`]),
  ];
}

function resultFaults(
  wire: Wire,
  message: Record<string, unknown>,
  method: string,
  status: number,
): string[] {
  const [name, list, item] = results[method] ?? [];
  if (name === undefined) return [`a result of ${method}`];
  const result = message['result'] as Readonly<Record<string, unknown>>;
  const items = list === undefined ? [] : (result[list] as readonly object[]);
  const contents = (result['content'] ?? result['contents'] ?? []) as readonly object[];
  return [
    ...(status === 200 ? [] : [`a result with ${status}`]),
    ...wire.faults('JSONRPCResponse', message),
    ...wire.faults(name, result),
    ...foreign(wire, name, result),
    ...items.flatMap((each) => [...wire.faults(item ?? '', each), ...foreign(wire, item ?? '', each)]),
    ...contents.flatMap((each) => contentFaults(wire, each)),
    ...(isJsonObject(result['serverInfo']) ? foreign(wire, 'Implementation', result['serverInfo']) : []),
    ...metaFaults(result['_meta']),
  ];
}

/** The members of a value that the revision does not have, although its schema lets them pass. */
function foreign(wire: Wire, name: string, value: object): string[] {
  const known = wire.members(name);
  return Object.keys(value).flatMap((member) => (known.includes(member) ? [] : [`${name} with ${member}`]));
}

function contentFaults(wire: Wire, content: object): string[] {
  const { resource } = content as { resource?: unknown };
  const within = isJsonObject(resource) ? contentFaults(wire, resource) : [];
  return [...foreign(wire, contentName(content), content), ...within];
}

function contentName(content: object): string {
  const names: Readonly<Record<string, string>> = {
    text: 'TextContent',
    image: 'ImageContent',
    audio: 'AudioContent',
    resource: 'EmbeddedResource',
    resource_link: 'ResourceLink',
  };
  const { type } = content as { type?: string };
  if (type !== undefined) return names[type] ?? type;
  return Object.hasOwn(content, 'blob') ? 'BlobResourceContents' : 'TextResourceContents';
}

/** The names of the protocol in metadata came with the newest revision. */
function metaFaults(meta: unknown): string[] {
  const names = isJsonObject(meta) ? Object.keys(meta) : [];
  return names
    .filter((name) => name.startsWith('io.modelcontextprotocol/'))
    .map((name) => `_meta with ${name}`);
}
