import { gatherBytes } from '../../kernel/byte-blocks.ts';
import { parseJson } from '../../kernel/json-text.ts';
import { ProviderFailure } from '../failure.ts';

const jsonType = /^application\/(?:[a-z0-9.+-]+\+)?json(?:$|[ ;])/i;
const OK = 200;
const REDIRECT = 300;
const CLIENT_ERROR = 400;
const SERVER_ERROR = 500;

/** The JSON of a whole answer 200 of at most `bytesMax` bytes. Throws a `ProviderFailure` for every other one. */
export async function readAnswer(response: Response, bytesMax: number, now: number): Promise<unknown> {
  const { status, headers } = response;
  if (status !== OK) throw refusalOf(status, headers.get('retry-after'), now);
  if (!jsonType.test(headers.get('content-type') ?? ''))
    throw schemaFailure('unexpected_content_type', 'The provider answered something other than JSON.');
  const bytes = await bytesOf(response, bytesMax);
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw schemaFailure('invalid_json', 'The provider answered JSON that does not parse.');
  }
}

export function schemaFailure(providerStatus: string, message: string): ProviderFailure {
  return new ProviderFailure('schema', providerStatus, message);
}

function bytesOf(response: Response, bytesMax: number): Promise<Uint8Array> {
  return gatherBytes(response.body ?? [], bytesMax, (fault) =>
    schemaFailure(
      'output_limit',
      fault === 'bytes'
        ? `The provider answered more than ${bytesMax} bytes.`
        : 'The provider answered in too many small pieces.',
    ),
  );
}

function refusalOf(status: number, retryAfter: string | null, now: number): ProviderFailure {
  const message = `The provider answered with the status ${status}.`;
  const word = `http_${status}`;
  const again = { isRetryable: true, retryAfterMs: retryAfterOf(retryAfter, now) };
  if (status === 408) return new ProviderFailure('timeout', word, message, again);
  if (status === 429) return new ProviderFailure('rate_limit', word, message, again);
  if (status >= SERVER_ERROR) return new ProviderFailure('provider_unavailable', word, message, again);
  if (status === 401 || status === 403) return new ProviderFailure('auth', word, message);
  if (status === 400 || status === 413 || status === 422) return new ProviderFailure('schema', word, message);
  const isOfSettings = (status >= REDIRECT && status < CLIENT_ERROR) || status === 404 || status === 405;
  return new ProviderFailure(isOfSettings ? 'configuration' : 'unknown', word, message);
}

/** The wait that a Retry-After field asks for (RFC 9110 section 10.2.3), in milliseconds. */
export function retryAfterOf(field: string | null, now: number): number | null {
  if (field === null) return null;
  if (/^[0-9]{1,9}$/.test(field)) return Number(field) * 1_000;
  const moment = Date.parse(field);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}
