import { limits } from '../../../contracts/generated/limits.ts';
import type { EmbeddingQuestion } from '../../embeddings/rules/request.ts';
import { readEmbeddingRequest } from '../../embeddings/rules/request.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { checkMost, checkWeight, checkWeights, checkWhole, given } from './members.ts';

/** The members of a request for the embedding of its query. */
export interface EmbeddingOptions {
  readonly field?: string | null;
  readonly purpose?: string | null;
  readonly queryPrefix?: string | null;
  readonly passagePrefix?: string | null;
  readonly symmetricPrefix?: string | null;
}

export interface VectorFieldRequest {
  readonly field: string;
  readonly weight?: number | null;
  readonly query?: string | null;
  readonly embedding?: EmbeddingOptions | null;
  readonly candidateLimit?: number | null;
  readonly minScore?: number | null;
}

/** One vector of the records that a retrieval compares. */
export interface VectorField {
  /** The name of the vector; `null`: the first of each collection. */
  readonly field: string | null;
  readonly weight: number;
  /** The text whose vector is compared. */
  readonly question: EmbeddingQuestion;
  readonly candidateLimit: number | null;
  /** The least similarity, before it is normalized. */
  readonly minScore: number | null;
  /** The member of the request that names the field, or that asks for vectors. */
  readonly pointer: string;
}

interface Asked {
  readonly query: string;
  readonly embedding?: EmbeddingOptions | null;
  readonly vectorFields?: readonly VectorFieldRequest[] | null;
}

/**
 * The vectors of a request, at least one. `origin` is the member that asks for vectors, where none is listed. Throws `validation_failed` or
 * `limit_exceeded` naming the member.
 */
export function readVectorFields(
  { query, embedding, vectorFields }: Asked,
  pointer: string,
  origin: string,
): readonly VectorField[] {
  const own = embedding ?? {};
  const fields = vectorFields ?? [];
  const list = `${pointer}/vectorFields`;
  if (fields.length === 0) {
    const question = readQuestion(query, own, {
      query: `${pointer}/query`,
      embedding: `${pointer}/embedding`,
    });
    const field = fieldOf(own.field);
    return [
      {
        field,
        weight: 1,
        question,
        candidateLimit: null,
        minScore: null,
        pointer: origin,
      },
    ];
  }
  checkMost(fields, limits.retrievalVectorFieldsMax, list);
  const read = fields.map((each, index) =>
    readVectorField(each, { query, own, pointer: `${list}/${index}`, above: pointer }),
  );
  checkDifferent(read);
  checkWeights(
    read.map(({ weight }) => weight),
    list,
  );
  return read;
}

function readVectorField(
  { field, weight, query: other, embedding, candidateLimit, minScore }: VectorFieldRequest,
  { query, own, pointer, above }: { query: string; own: EmbeddingOptions; pointer: string; above: string },
): VectorField {
  const isOther = given(other) && other.trim() !== '';
  if (given(minScore) && !Number.isFinite(Math.fround(minScore)))
    throw invalidMember(`${pointer}/minScore`, 'must be a finite float32');
  const places = {
    query: isOther ? `${pointer}/query` : `${above}/query`,
    embedding: given(embedding) ? `${pointer}/embedding` : `${above}/embedding`,
  };
  return {
    field: fieldOf(field),
    weight: checkWeight(weight ?? 1, `${pointer}/weight`),
    question: readQuestion(isOther ? other : query, embedding ?? own, places),
    candidateLimit: given(candidateLimit)
      ? checkWhole(candidateLimit, `${pointer}/candidateLimit`, limits.retrievalCandidatesMax)
      : null,
    minScore: minScore ?? null,
    pointer: `${pointer}/field`,
  };
}

function checkDifferent(fields: readonly VectorField[]): void {
  const seen = new Set<string | null>();
  for (const { field, pointer } of fields) {
    if (seen.has(field)) throw invalidMember(pointer, 'must differ from the other fields');
    seen.add(field);
  }
}

function fieldOf(field: string | null | undefined): string | null {
  const name = (field ?? '').trim();
  return name === '' ? null : name;
}

/** The rules of embeddings check the text; their pointers are translated into those of the retrieval. */
function readQuestion(
  text: string,
  { purpose, queryPrefix = null, passagePrefix = null, symmetricPrefix = null }: EmbeddingOptions,
  places: { readonly query: string; readonly embedding: string },
): EmbeddingQuestion {
  const named = given(purpose) && purpose.trim() !== '' ? purpose : 'query';
  try {
    return readEmbeddingRequest({ text, purpose: named, queryPrefix, passagePrefix, symmetricPrefix });
  } catch (error) {
    const [first] = error instanceof ServiceError ? (error.extensions.errors ?? []) : [];
    if (first === undefined) throw error;
    const pointer = first.pointer === '/text' ? places.query : places.embedding + first.pointer;
    throw invalidMember(pointer, first.detail, (error as ServiceError).code);
  }
}
