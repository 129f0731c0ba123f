import { limits } from '../../../contracts/generated/limits.ts';
import { choice, integer, list, text, truth } from '../kinds.ts';
import type { Secret } from '../secret.ts';
import { setting } from '../setting.ts';
import { inDevelopment, onFunctions } from './defaults.ts';
import { anyText, apiKey, headerName, hostName, keyHash, origin } from './texts.ts';

/** The environment, and the location of its data. */
// biome-ignore format: a table reads better with one setting a line or two
export const service = {
  environment: setting('Environment', text('a word such as Development or Production', /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/), onFunctions('Production', 'Development'),
    'Development serves every caller that reaches it and explains failures; every other value is strict.', { variables: ['SVC_ENVIRONMENT', 'ENVIRONMENT'] }),
  dataDirectory: setting('Server:DataDirectory', anyText, '.svc',
    'Folder of the embedded store, created if it is missing. A relative path starts at the working folder of the server.', { variables: ['SVC_DATA_DIR'], option: 'data-dir' }),
  cloudService: setting<string | null>('Server:CloudService', anyText, null,
    'Name of the cloud service; the platform sets it. The loopback exceptions do not hold there.', { variables: ['K_SERVICE'] }),
} as const;

/** The HTTP server. */
// biome-ignore format: a table reads better with one setting a line or two
export const server = {
  host: setting('Server:Host', hostName, '127.0.0.1',
    'Address that the embedded server listens on.', { option: 'host' }),
  port: setting('Server:Port', integer(0, 65_535), 5220,
    'Port of the embedded server; 0 selects a free one.', { variables: ['PORT'], option: 'port' }),
  allowRemoteDevelopment: setting('Server:AllowRemoteDevelopment', truth(), false,
    'Lets a Development server without policies listen beyond loopback and answer requests for host names other than localhost.'),
  trustedProxyHops: setting('Server:TrustedProxyHops', integer(0, 16), 0,
    'Number of trusted proxies in front: the server trusts that many entries of X-Forwarded-For, counted from the right.', { unit: 'proxies' }),
  drainSeconds: setting('Server:DrainSeconds', integer(0, 600), onFunctions<number>(8, 10),
    'Time that requests under way get to finish when the service stops. The platform gives functions 10 seconds.', { unit: 'seconds' }),
  logLevel: setting<'debug' | 'info' | 'warning' | 'error'>('Server:LogLevel', choice({ debug: [], info: ['information'], warning: ['warn'], error: [] }), onFunctions<'info' | 'warning'>('info', 'warning'),
    'Least severity of the log lines that are written.', { option: 'log-level' }),
  logFormat: setting<'google' | 'otel' | null>('Server:LogFormat', choice({ google: [], otel: [] }), null,
    'Names of the members that carry the trace of a request in log lines. Default: google where K_SERVICE is set, else otel.'),
  messageBytesMax: setting<number | null>('Server:MessageBytesMax', integer(1_048_576, 1_073_741_824), onFunctions<number | null>(33_554_432, null),
    'Largest request or answer that the platform in front carries. The server refuses a larger one and names the alternative.', { unit: 'bytes' }),
  bytesInFlightMax: setting('Server:BytesInFlightMax', integer(1_048_576, 68_719_476_736), 268_435_456,
    'Memory that bodies and answers of requests under way may hold together. Further large requests are refused with 503.', { unit: 'bytes' }),
  bytesInFlightPerCallerMax: setting('Server:BytesInFlightPerCallerMax', integer(1_048_576, 68_719_476_736), inDevelopment(268_435_456, 67_108_864),
    'Memory that bodies and answers of one caller may hold. Further large requests of the caller are refused with 429.', { unit: 'bytes' }),
  requestsAtWorkMax: setting('Server:RequestsAtWorkMax', integer(8, 10_000), 128,
    'Requests that one process works at together. Further ones wait; one that would wait too long is refused with 503 (overloaded).'),
  writeBytesPerMinute: setting('Server:WriteBytesPerMinute', integer(67_108_864, 1_099_511_627_776), 1_073_741_824,
    'Bytes that requests of one tenant or space may write in a minute through one process, whether they add or replace; a further write is refused with 429. Jobs and restores are not counted.', { unit: 'bytes' }),
  refusalDelayMs: setting('Server:RefusalDelayMs', integer(0, 10_000), onFunctions<number>(0, 1_000),
    'Delay of a refusal by a rate limit for an address that was refused more than ten times in its window; 0 for none. Cloud functions have none: a delayed answer keeps its place in an instance.', { unit: 'milliseconds' }),
  validateResponses: setting('Server:ValidateResponses', truth(), inDevelopment(true, false),
    'Whether the server checks every answer against its model before it sends it.'),
} as const;

/** API keys. */
// biome-ignore format: a table reads better with one setting a line or two
export const security = {
  apiKeys: setting<readonly Secret[]>('Server:ApiKeys', list(apiKey), [],
    'API keys of callers in plain text, for development. In other environments the service warns: set hashes or a file instead.'),
  apiKeyHashes: setting<readonly string[]>('Server:ApiKeyHashes', list(keyHash), [],
    'Hashes of the API keys of callers. svc api-key create makes a key and prints its hash.'),
  apiKeyFile: setting<string | null>('Server:ApiKeyFile', anyText, null,
    'File with the hashes of the API keys of callers. The service reads it every 30 seconds and refuses a removed key within a minute.', { variables: ['SVC_API_KEY_FILE'] }),
  apiKey: setting<Secret | null>('Server:ApiKey', apiKey, null,
    'One more API key in plain text, for development. In other environments the service warns: set the hash instead.', { variables: ['SVC_API_KEY'] }),
  requireApiKey: setting<boolean | null>('Server:RequireApiKey', truth(), null,
    'Whether callers must present an API key. Default: yes when a key is configured.'),
  apiKeyHeader: setting('Server:ApiKeyHeader', headerName, 'X-Svc-Api-Key',
    'Header that carries the API key.', { variables: ['SVC_API_KEY_HEADER'] }),
} as const;

/** The rate limit of the canonical routes. */
// biome-ignore format: a table reads better with one setting a line or two
export const rateLimit = {
  permitLimit: setting('Server:CanonicalRateLimit:PermitLimit', integer(1, 100_000), inDevelopment<number>(limits.rateLimitPermitsDevelopmentDefault, limits.rateLimitPermitsDefault),
    'Canonical requests per window from one source address.', { unit: 'requests' }),
  windowSeconds: setting<number>('Server:CanonicalRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
  queueLimit: setting<number>('Server:CanonicalRateLimit:QueueLimit', integer(0, 10_000), limits.rateLimitQueueDefault,
    'Requests that wait for the next window instead of being refused.', { unit: 'requests' }),
} as const;

/** The rate limit of the execution routes, but for those of workers. */
// biome-ignore format: a table reads better with one setting a line or two
export const executionRateLimit = {
  permitLimit: setting('Server:ExecutionRateLimit:PermitLimit', integer(1, 1_000_000), inDevelopment<number>(limits.executionRateLimitPermitsDevelopmentDefault, limits.executionRateLimitPermitsDefault),
    'Permits per window of one source address for starts, reads, lists, events and cancellations of runs. Each takes one; a body takes one more for each further 64 KiB, a refused start nine more.', { unit: 'requests' }),
  windowSeconds: setting<number>('Server:ExecutionRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
} as const;

/** The rate limit of the routes for workers. A worker that is busy makes many calls for each run. */
// biome-ignore format: a table reads better with one setting a line or two
export const workerRateLimit = {
  permitLimit: setting('Server:WorkerRateLimit:PermitLimit', integer(1, 1_000_000), inDevelopment<number>(limits.workerRateLimitPermitsDevelopmentDefault, limits.workerRateLimitPermitsDefault),
    'Permits per window of one source address for requests of workers for leases and under leases. Each takes one; a body takes one more for each further 64 KiB, except an artifact under a lease that is live.', { unit: 'requests' }),
  windowSeconds: setting<number>('Server:WorkerRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
} as const;

/** The rate limit of the routes without a credential. `/health` has none. */
// biome-ignore format: a table reads better with one setting a line or two
export const publicRateLimit = {
  permitLimit: setting('Server:PublicRateLimit:PermitLimit', integer(1, 1_000_000), inDevelopment<number>(limits.rateLimitPermitsDevelopmentDefault, limits.publicRateLimitPermitsDefault),
    'Permits per window of one source address for readiness, contract, schemas and documentation. Each request takes one, and one more for each further 64 KiB of a document that it gets.', { unit: 'requests' }),
  windowSeconds: setting<number>('Server:PublicRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
} as const;

/** The rate limit of the routes of collections and records. */
// biome-ignore format: a table reads better with one setting a line or two
export const recordRateLimit = {
  permitLimit: setting('Server:RecordRateLimit:PermitLimit', integer(1, 1_000_000), inDevelopment<number>(limits.recordRateLimitPermitsDevelopmentDefault, limits.recordRateLimitPermitsDefault),
    'Permits per window of one source address for collections and records. Each request takes one; a body takes one more for each further 64 KiB.', { unit: 'requests' }),
  windowSeconds: setting<number>('Server:RecordRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
    'Length of a window.', { unit: 'seconds' }),
} as const;

/** The documentation site. */
// biome-ignore format: a table reads better with one setting a line or two
export const docs = {
  enabled: setting('Docs:Enabled', truth(), inDevelopment(true, false),
    'Whether /docs serves the API reference and the guides, and /llms.txt their text for models, to every caller. The page loads nothing from other hosts.'),
} as const;

/** Browser applications of other origins. */
// biome-ignore format: a table reads better with one setting a line or two
export const cors = {
  allowedOrigins: setting<readonly string[]>('Cors:AllowedOrigins', list(origin), inDevelopment<readonly string[]>(developmentOrigins(), []),
    'Origins of browser applications that may call the service.'),
} as const;

function developmentOrigins(): string[] {
  const ports = [3000, 5173, 5174, 8080];
  return ports.flatMap((port) => [`http://localhost:${port}`, `http://127.0.0.1:${port}`]);
}
