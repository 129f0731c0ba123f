import { gatherBlocks, type StreamFault } from '../../kernel/byte-blocks.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type PacedJsonLimits, parsePacedJson } from '../../kernel/paced-json.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { World } from '../../kernel/world.ts';
import { ProviderFailure } from '../failure.ts';

const jsonType = /^application\/(?:[a-z0-9.+-]+\+)?json(?:$|[ ;])/i;
/** All answers of providers share one order of turns: their work is not split by caller. */
export const PROVIDER_ANSWERS = 'answers of providers';
const OK = 200;
const REDIRECT = 300;
const CLIENT_ERROR = 400;
const SERVER_ERROR = 500;

/** Twice the largest answer of a correct provider: vectors of 2,048 texts, each with four objects and a list. */
const AMOUNT_MAX = 20_000;
const DEPTH_MAX = 64;
const ANSWER_LIMITS: PacedJsonLimits = {
  depthMax: DEPTH_MAX,
  membersMax: AMOUNT_MAX,
  containersMax: AMOUNT_MAX,
  itemMembersMax: AMOUNT_MAX,
  itemContainersMax: AMOUNT_MAX,
  // The length of one vector or one text. It is parsed in one go, in some 20 ms.
  itemLengthMax: 1024 * 1024,
  keepsHalfCharacters: true,
  // The numbers that are kept of an answer are vectors and scores.
  floats: ['**'],
};

/** The JSON of a whole answer 200 of at most `bytesMax` bytes. Throws a `ProviderFailure` for every other one. */
export async function readAnswer(
  response: Response,
  bytesMax: number,
  { clock, turns }: Pick<World, 'clock' | 'turns'>,
): Promise<unknown> {
  const { status, headers } = response;
  if (status !== OK) throw refusalOf(status, headers.get('retry-after'), clock.now());
  if (!jsonType.test(headers.get('content-type') ?? ''))
    throw schemaFailure('unexpected_content_type', 'The provider answered something other than JSON.');
  const paced = turns.of(PROVIDER_ANSWERS);
  const blocks = await blocksOf(response, bytesMax, paced);
  try {
    return await parsePacedJson(blocks, ANSWER_LIMITS, paced);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw schemaFailure('invalid_json', 'The provider answered no JSON, or more of it than an answer holds.');
  }
}

export function schemaFailure(providerStatus: string, message: string): ProviderFailure {
  return new ProviderFailure('schema', providerStatus, message);
}

async function blocksOf(response: Response, bytesMax: number, paced: Turns): Promise<readonly Uint8Array[]> {
  const refuse = (fault: StreamFault) =>
    schemaFailure(
      'output_limit',
      fault === 'bytes'
        ? `The provider answered more than ${bytesMax} bytes.`
        : 'The provider answered in too many small pieces.',
    );
  return (await gatherBlocks(response.body ?? [], bytesMax, refuse, paced)).blocks();
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

/** Callers get the wait too, so it is limited. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/**
 * The wait that a Retry-After field asks for (RFC 9110 section 10.2.3), in milliseconds; at most an hour.
 * @testonly
 */
export function retryAfterOf(field: string | null, now: number): number | null {
  if (field === null) return null;
  const wait = /^[0-9]+$/.test(field) ? Number(field) * 1_000 : Date.parse(field) - now;
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), RETRY_AFTER_MS_MAX);
}
