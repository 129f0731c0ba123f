import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkWeight, checkWeights, checkWhole, given } from './members.ts';

/** The reranking of the best results, as a request names it. */
export interface RerankRequest {
  readonly enabled?: boolean | null;
  readonly provider?: string | null;
  readonly mode?: string | null;
  readonly candidateLimit?: number | null;
  readonly maxCandidateChars?: number | null;
  readonly contentField?: string | null;
  readonly rerankScoreWeight?: number | null;
  readonly originalScoreWeight?: number | null;
  readonly timeoutSeconds?: number | null;
  readonly maxOutputBytes?: number | null;
  readonly fallbackOnFailure?: boolean | null;
}

export interface RerankOptions {
  /** `null`: the reranker of the service itself. */
  readonly provider: string | null;
  readonly mode: string;
  /** `null`: four times the limit of the request. */
  readonly candidateLimit: number | null;
  /** In UTF-16 units. */
  readonly maxCandidateChars: number;
  /** A member of the content; `null`: its `text`, or its first string. */
  readonly contentField: string | null;
  readonly rerankScoreWeight: number;
  readonly originalScoreWeight: number;
  readonly timeoutSeconds: number | null;
  readonly maxOutputBytes: number | null;
  readonly fallbackOnFailure: boolean;
}

const NAME_LENGTH_MAX = 160;

/** `null` if the request enables no reranking. Throws `validation_failed` or `limit_exceeded` below `pointer`. */
export function readRerank(request: RerankRequest, pointer: string): RerankOptions | null {
  const { candidateLimit, timeoutSeconds, maxOutputBytes } = request;
  const rerankScoreWeight = checkWeight(request.rerankScoreWeight ?? 1, `${pointer}/rerankScoreWeight`);
  const originalScoreWeight = checkWeight(request.originalScoreWeight ?? 0, `${pointer}/originalScoreWeight`);
  checkWeights([rerankScoreWeight, originalScoreWeight], pointer);
  const whole = (value: number | null | undefined, name: string, most: number) =>
    given(value) ? checkWhole(value, `${pointer}/${name}`, most) : null;
  const chars = request.maxCandidateChars ?? 2_000;
  const options = {
    provider: nameOf(request.provider, `${pointer}/provider`),
    mode: nameOf(request.mode, `${pointer}/mode`) ?? 'advisory',
    candidateLimit: whole(candidateLimit, 'candidateLimit', limits.retrievalRerankCandidatesMax),
    maxCandidateChars: checkWhole(
      chars,
      `${pointer}/maxCandidateChars`,
      limits.retrievalRerankCandidateCharsMax,
    ),
    contentField: nameOf(request.contentField, `${pointer}/contentField`),
    rerankScoreWeight,
    originalScoreWeight,
    timeoutSeconds: whole(timeoutSeconds, 'timeoutSeconds', Number.MAX_SAFE_INTEGER),
    maxOutputBytes: whole(maxOutputBytes, 'maxOutputBytes', Number.MAX_SAFE_INTEGER),
    fallbackOnFailure: request.fallbackOnFailure ?? true,
  };
  return request.enabled === true ? options : null;
}

function nameOf(text: string | null | undefined, pointer: string): string | null {
  const name = (text ?? '').trim();
  if (name.length > NAME_LENGTH_MAX)
    throw invalidMember(pointer, `must be at most ${NAME_LENGTH_MAX} characters`, 'limit_exceeded');
  return name === '' ? null : name;
}
