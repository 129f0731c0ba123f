import { sha256 } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { blankAsNull } from './ingest-request.ts';

const FORMAT = 'chat-markdown';
const SYSTEM =
  'Answer the question with the context alone. If the context does not hold the answer, say that it is not sufficient.';

/** A template whose members have the types that its schema names. */
export interface PromptTemplate {
  readonly format?: string | null;
  readonly systemInstruction?: string | null;
  readonly userInstruction?: string | null;
  readonly citationInstruction?: string | null;
  readonly includeCitationInstruction?: boolean | null;
  readonly failOnEmptyContext?: boolean | null;
  readonly maxPromptChars?: number | null;
}

export interface PromptContext {
  readonly query: string;
  readonly chunkCount: number;
  readonly citationIds: readonly string[];
  readonly contextText: string;
}

export interface ContextPrompt {
  readonly format: typeof FORMAT;
  readonly prompt: string;
  readonly promptHash: string;
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[];
}

/** Refuses an invalid template before the first search. Throws `validation_failed` naming the member below `pointer`. */
export function checkTemplate({ format, maxPromptChars }: PromptTemplate, pointer = '/template'): void {
  if ((format ?? FORMAT) !== FORMAT) throw invalidMember(`${pointer}/format`, `must be ${FORMAT}`);
  const most = maxPromptChars ?? 1;
  if (!Number.isSafeInteger(most) || most < 1)
    throw invalidMember(`${pointer}/maxPromptChars`, 'must be a whole number above 0');
}

/**
 * The prompt of a context. Throws `validation_failed` if it is longer than the template allows, or if the context is empty and
 * the template refuses that.
 */
export function promptOf(
  context: PromptContext,
  template: PromptTemplate,
  pointer = '/template',
): ContextPrompt {
  checkTemplate(template, pointer);
  if (template.failOnEmptyContext === true && context.chunkCount === 0)
    throw invalidMember(`${pointer}/failOnEmptyContext`, 'refuses a context without chunks');
  const system = blankAsNull(template.systemInstruction) ?? SYSTEM;
  const user = userMessage(context, template);
  const prompt = `SYSTEM:\n${system}\n\nUSER:\n${user}`.trimEnd();
  const most = template.maxPromptChars ?? Infinity;
  if (prompt.length > most) {
    const detail = `allows ${most} characters, and the prompt has ${prompt.length}`;
    throw invalidMember(`${pointer}/maxPromptChars`, detail, 'limit_exceeded');
  }
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ] as const;
  return { format: FORMAT, prompt, promptHash: sha256(prompt), messages };
}

function userMessage({ query, citationIds, contextText }: PromptContext, template: PromptTemplate): string {
  const lines = ['Question:', blankAsNull(template.userInstruction) ?? query, ''];
  if (template.includeCitationInstruction ?? true)
    lines.push('Citation rule:', blankAsNull(template.citationInstruction) ?? citationRule(citationIds), '');
  lines.push(contextText);
  return lines.join('\n').trimEnd();
}

function citationRule(ids: readonly string[]): string {
  if (ids.length === 0) return 'The context has no citations: cite nothing.';
  return `Behind each statement, cite what it rests on by its id: ${ids.map((id) => `[${id}]`).join(' ')}.`;
}
