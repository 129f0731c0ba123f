import type { EmbeddingResponse } from '../../../contracts/generated/models.ts';
import { type EmbeddingItem, embedTexts } from '../../embeddings/embed-texts.ts';
import { readEmbeddingRequest } from '../../embeddings/rules/request.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import { jsonInTurns } from '../../kernel/json-in-turns.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { refusedBy } from '../../providers/refusal.ts';
import type { EmbeddingLayers } from './jobs/job-view.ts';

/** A number as text, with its comma. */
const NUMBER_BYTES = 16;
/** A vector is two levels below the answer. */
const ITEMS_DEPTH = 2;

/** Counts the bytes of the answer before the work begins, so that a process without room refuses before it pays the provider. */
export function generateEmbeddings({
  embeddings,
  access,
}: Pick<EmbeddingLayers, 'embeddings' | 'access'>): GroupHandlers<'embeddings'>['generateEmbeddings'] {
  return async ({ body }, { caller, signal, hold }) => {
    const space = access.spaceOf(caller, 'read');
    const question = readEmbeddingRequest(body);
    hold?.(question.texts.length * embeddings.embedder.dimensions * NUMBER_BYTES);
    const { items, ...answer } = await embedTexts(embeddings, question, { space, signal }).catch(
      (error: unknown) => {
        throw refusedBy(error);
      },
    );
    const { turns } = embeddings;
    if (turns === undefined) return { status: 200, body: { ...answer, items: items.map(shown) } };
    // Many long vectors are megabytes; writing them in one step would block every other call.
    const text = await jsonInTurns({ ...answer, items }, ITEMS_DEPTH, turns.of(space, signal));
    const written: unknown = new JsonText(text);
    return { status: 200, body: written as EmbeddingResponse };
  };
}

function shown({ values, ...item }: EmbeddingItem) {
  return { ...item, values: [...values] };
}
