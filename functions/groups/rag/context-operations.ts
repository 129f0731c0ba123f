import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import { refusedBy } from '../../providers/refusal.ts';
import { type BuiltContext, buildContext, type ContextQuestion } from '../../rag/build-context.ts';
import { checkTemplate, promptOf } from '../../rag/rules/prompt.ts';
import type { RetrievalParts } from '../../retrieval/parts.ts';
import { judgeRerankers } from '../retrieval/library/judge-rerankers.ts';
import { answered, contextText } from './context-answer.ts';
import type { RagLayers } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'rag'>;

export function buildRagContext({
  retrieval,
  access,
  rerankAccess,
}: Pick<RagLayers, 'retrieval' | 'access' | 'rerankAccess'>): Handlers['buildRagContext'] {
  return async ({ body }, context) => {
    const { caller } = context;
    const space = access.spaceOf(caller, 'read');
    judgeRerankers(rerankAccess, { caller, space }, [body.retrieval]);
    const built = await contextOf(retrieval, space, body, context);
    return {
      status: 200,
      body: answered(retrieval, await contextText(retrieval.records.world.turns.of(space), built)),
    };
  };
}

/** A prompt always needs text and citations of its context, so the request's options for them do not apply. */
export function buildRagPrompt({
  retrieval,
  access,
  rerankAccess,
}: Pick<RagLayers, 'retrieval' | 'access' | 'rerankAccess'>): Handlers['buildRagPrompt'] {
  return async ({ body: { context: asked, template: given } }, context) => {
    const { caller } = context;
    const space = access.spaceOf(caller, 'read');
    judgeRerankers(rerankAccess, { caller, space }, [asked.retrieval]);
    const template = given ?? {};
    checkTemplate(template);
    const question = { ...asked, includeContextText: true, includeCitations: true };
    const built = await contextOf(retrieval, space, question, context, '/context');
    const { chosen, cited, text } = built;
    const parts = {
      query: built.retrieval.query,
      chunkCount: chosen.chunks.length,
      citationIds: cited.citations.map(({ id }) => id),
      contextText: text?.text ?? '',
    };
    const prompt = promptOf(parts, template);
    const trace = asked.includeTrace === true ? traceOf(built, prompt) : null;
    const members = JSON.stringify({ query: parts.query, ...prompt, trace });
    const json = `${members.slice(0, -1)},"context":${await contextText(retrieval.records.world.turns.of(space), built)}}`;
    return { status: 200, body: answered(retrieval, json) };
  };
}

async function contextOf(
  retrieval: RetrievalParts,
  space: string,
  question: ContextQuestion,
  { signal, grow, correlationId }: CallContext,
  pointer = '',
): Promise<BuiltContext> {
  const call = { signal, correlationId, pointer, ...(grow === undefined ? {} : { grow }) };
  return buildContext(retrieval, space, question, call).catch((error: unknown) => {
    throw refusedBy(error);
  });
}

function traceOf({ chosen, cited, text }: BuiltContext, prompt: ReturnType<typeof promptOf>) {
  return {
    format: prompt.format,
    promptHash: prompt.promptHash,
    promptChars: prompt.prompt.length,
    messageCount: prompt.messages.length,
    chunkCount: chosen.chunks.length,
    citationCount: cited.citations.length,
    contextTextHash: text?.hash ?? null,
  };
}
