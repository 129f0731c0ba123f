import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { RetrievalRequest } from './asked.ts';
import { builtInProfiles, type ProfileDefaults, type RetrievalProfile } from './built-in-profiles.ts';
import { given } from './members.ts';

/**
 * The request with the members of its profile. A profile sets absent members, replaces a limit only if the request has the
 * default, and always requests a trace. Throws `validation_failed` for an unknown profile.
 */
export function withProfile(
  request: RetrievalRequest,
  pointer: string,
): { readonly request: RetrievalRequest; readonly profile: string | null } {
  const name = (request.profile ?? '').trim();
  if (name === '') return { request, profile: null };
  const profile = profileOf(name);
  if (profile === null) {
    const ids = builtInProfiles.map(({ id }) => id).join(', ');
    throw invalidMember(`${pointer}/profile`, `must be the id of a retrieval profile: ${ids}`);
  }
  const { searchMode, embedding, lexical, hybrid, rerank, limit } = profile.defaults;
  const hasMode = given(request.searchMode) && request.searchMode.trim() !== '';
  const asked = request.limit ?? limits.retrievalLimitDefault;
  const filled = {
    ...request,
    searchMode: hasMode ? request.searchMode : searchMode,
    embedding: request.embedding ?? embedding,
    lexical: request.lexical ?? lexical,
    hybrid: request.hybrid ?? hybrid,
    rerank: request.rerank ?? rerank,
    limit: asked === limits.retrievalLimitDefault ? limit : asked,
    includeTrace: true,
  };
  return { request: filled, profile: profile.id };
}

/** Finds a profile without regard to case; `null` if none has the id. */
function profileOf(name: string): RetrievalProfile | null {
  return builtInProfiles.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? null;
}

/** The profile in answers: members that it leaves to the defaults are `null`. */
export function describedProfile({ defaults, recommendedFor, cautions, ...profile }: RetrievalProfile) {
  return {
    ...profile,
    recommendedFor: [...recommendedFor],
    cautions: [...cautions],
    defaults: describedDefaults(defaults),
  };
}

function describedDefaults({ embedding, lexical, hybrid, rerank, ...defaults }: ProfileDefaults) {
  return {
    ...defaults,
    embedding: embedding && { ...noEmbedding, ...embedding },
    lexical: { ...noWords, ...lexical },
    hybrid: hybrid && { ...hybrid },
    rerank: rerank && { ...rerank },
  };
}

const noEmbedding = {
  field: null,
  purpose: null,
  queryPrefix: null,
  passagePrefix: null,
  symmetricPrefix: null,
};

const noWords = {
  query: null,
  fields: null,
  top: null,
  scanLimit: null,
  minScore: null,
  scoring: null,
  matchMode: null,
  fieldBoosts: null,
  bm25K1: null,
  bm25B: null,
  phraseBoost: null,
  exactBoost: null,
  metadataBoost: null,
  prefixMatching: null,
  prefixMinChars: null,
  requiredPhraseGroups: null,
};
