import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { RetrievalRequest } from './asked.ts';
import { builtInProfiles, type RetrievalProfile } from './built-in-profiles.ts';
import { given } from './members.ts';

/**
 * The request with what its profile gives it. A profile fills absent members whole, replaces a limit only where the request
 * has the default, and always asks for a trace. Throws `validation_failed` for an unknown profile.
 */
export function withProfile(
  request: RetrievalRequest,
  pointer: string,
): { readonly request: RetrievalRequest; readonly profile: string | null } {
  const name = (request.profile ?? '').trim();
  if (name === '') return { request, profile: null };
  const profile = profileOf(name);
  if (profile === null) throw invalidMember(`${pointer}/profile`, 'must be the id of a retrieval profile');
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

/** In any case; `null` where none has the id. */
function profileOf(name: string): RetrievalProfile | null {
  return builtInProfiles.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? null;
}
