import { limits } from '../../../contracts/generated/limits.ts';
import { mcpDefaults, mcpPreviews } from '../../../contracts/generated/mcp/exposures.ts';
import { choice, integer, list, text, truth } from '../kinds.ts';
import { setting } from '../setting.ts';
import { inDevelopment } from './defaults.ts';
import { anyText, url } from './texts.ts';

const operationId = text('the id of an operation', /^[A-Za-z][A-Za-z0-9]{0,99}$/);

const revisions = { '2026-07-28': [], '2025-11-25': [], '2025-06-18': [], '2025-03-26': [] } as const;

type McpRevision = keyof typeof revisions;

/** The endpoint of the Model Context Protocol. */
// biome-ignore format: a table reads better with one setting a line or two
export const mcp = {
  enabled: setting('Mcp:Enabled', truth(), false,
    'Whether POST /mcp serves the Model Context Protocol.'),
  revisions: setting<readonly McpRevision[]>('Mcp:Revisions', list(choice(revisions)), Object.keys(revisions) as McpRevision[],
    'Revisions of the protocol that the endpoint serves, at least one. A client of another revision is refused, and the refusal names these.'),
  enabledOperations: setting<readonly string[]>('Mcp:EnabledOperations', list(operationId), [],
    'Ids of operations that the endpoint offers beside those that it offers by default: all tasks are off until they are listed here.'),
  disabledOperations: setting<readonly string[]>('Mcp:DisabledOperations', list(operationId), [],
    'Ids of operations that the endpoint does not offer, although it would by default.'),
  previewTools: setting('Mcp:PreviewTools', truth(), false,
    'Whether the endpoint also offers the tools that are a preview: they only read, and their names and arguments may change in any release.'),
  plainTasks: setting('Mcp:PlainTasks', truth(), true,
    'Whether clients of revisions before 2026-07-28, which cannot follow a task, may call the tools for durable work. Such a call waits up to 20 seconds for the end, and then answers an id for two further tools that read and cancel the work.'),
  bodyBytesMax: setting<number>('Mcp:BodyBytesMax', integer(1_024, 33_554_432), 1_048_576,
    'Largest request body; a larger one is refused with 413. Not more than the gateway in front lets through.', { unit: 'bytes' }),
  headerCountMax: setting<number>('Mcp:HeaderCountMax', integer(8, limits.requestHeadersMax), limits.requestHeadersMax,
    'Header fields of a request; more are refused with 431.', { unit: 'fields' }),
  headerBytesMax: setting<number>('Mcp:HeaderBytesMax', integer(1_024, limits.requestHeaderBytesMax), limits.requestHeaderBytesMax,
    'Bytes of the header fields of a request; more are refused with 431.', { unit: 'bytes' }),
  resultCharactersMax: setting<number>('Mcp:ResultCharactersMax', integer(1_000, 8_388_608), 50_000,
    'Characters of an answer in one result of a tool. A longer answer comes in parts: the argument answerOffset reads on.', { unit: 'characters' }),
  textContent: setting<'compact' | 'full'>('Mcp:TextContent', choice({ compact: [], full: [] }), 'compact',
    'Text of a list beside its values: compact has one line for each item, with its ids, its score and the start of its text; full is the JSON of the values. A list below 4,000 characters is always JSON.'),
  permitLimit: setting('Mcp:RateLimit:PermitLimit', integer(1, 1_000_000), inDevelopment<number>(limits.recordRateLimitPermitsDevelopmentDefault, limits.recordRateLimitPermitsDefault),
    'Requests to the endpoint per window from one source address. A call of a tool counts against the rate limit of its operation, too.', { unit: 'requests' }),
  windowSeconds: setting<number>('Mcp:RateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
  resource: setting<string | null>('Mcp:ProtectedResource:Resource', url, null,
    'Public address of the endpoint, such as https://api.example.com/mcp. With authorization servers it is published at /.well-known/oauth-protected-resource/mcp, and refusals of a credential name that address. Access tokens have it as their audience. Not together with API keys.'),
  authorizationServers: setting<readonly string[]>('Mcp:ProtectedResource:AuthorizationServers', list(url), [],
    'Issuers from which clients get tokens for the endpoint.'),
  scopesSupported: setting<readonly string[]>('Mcp:ProtectedResource:ScopesSupported', list(anyText), [],
    'Scopes that clients ask for.'),
} as const;

/** Whether the settings let the endpoint offer the operation. */
export function isOffered(
  {
    enabledOperations,
    disabledOperations,
    previewTools,
  }: {
    readonly enabledOperations: readonly string[];
    readonly disabledOperations: readonly string[];
    readonly previewTools: boolean;
  },
  operation: string,
): boolean {
  if (disabledOperations.includes(operation)) return false;
  if (mcpPreviews.has(operation)) return previewTools;
  return mcpDefaults[operation] === true || enabledOperations.includes(operation);
}
