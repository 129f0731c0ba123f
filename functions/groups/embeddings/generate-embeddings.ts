import { embedTexts } from '../../embeddings/embed-texts.ts';
import { readEmbeddingRequest } from '../../embeddings/rules/request.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import { refusedBy } from '../../providers/refusal.ts';
import type { EmbeddingsDependencies } from './dependencies.ts';

/** A number as text, with its comma. */
const NUMBER_BYTES = 16;

/** The bytes of the answer count as held before the work begins: a process without room for them refuses the call unpaid. */
export function generateEmbeddings({
  embeddings,
  access,
}: EmbeddingsDependencies): GroupHandlers<'embeddings'>['generateEmbeddings'] {
  return async ({ body }, { caller, signal, hold }) => {
    const space = access.spaceOf(caller, 'read');
    const question = readEmbeddingRequest(body);
    hold?.(question.texts.length * embeddings.embedder.dimensions * NUMBER_BYTES);
    const { items, ...answer } = await embedTexts(embeddings, question, { space, signal }).catch(
      (error: unknown) => {
        throw refusedBy(error);
      },
    );
    const shown = items.map(({ values, ...item }) => ({ ...item, values: [...values] }));
    return { status: 200, body: { ...answer, items: shown } };
  };
}
