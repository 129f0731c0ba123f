import { expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { type PromptTemplate, promptOf } from './prompt.ts';

const context = {
  query: 'Why?',
  chunkCount: 1,
  citationIds: ['c1', 'c2.1'],
  contextText: 'Context:\n[c1] x',
};
const template = { systemInstruction: 'Be brief.', citationInstruction: 'Cite.' };

test('a prompt has the instruction, the question, the rule of citations and the context', () => {
  const user = 'Question:\nWhy?\n\nCitation rule:\nCite.\n\nContext:\n[c1] x';
  const prompt = `SYSTEM:\nBe brief.\n\nUSER:\n${user}`;
  expect(promptOf(context, template)).toEqual({
    format: 'chat-markdown',
    prompt,
    promptHash: sha256(prompt),
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: user },
    ],
  });
});

test('a template may have another instruction, and omit the rule', () => {
  const asked = promptOf(context, {
    ...template,
    userInstruction: 'Sum it up.',
    includeCitationInstruction: false,
  });
  expect(asked.messages[1]?.content).toBe('Question:\nSum it up.\n\nContext:\n[c1] x');
});

test('the default rule names the ids of the citations, and the default instruction keeps to the context', () => {
  const { prompt } = promptOf(context, {});
  expect(prompt).toContain('[c1] [c2.1].');
  expect(prompt).toContain('the context alone');
  expect(promptOf({ ...context, citationIds: [] }, {}).prompt).toContain('cite nothing');
});

test.each<[template: PromptTemplate, pointer: string]>([
  [{ format: 'text' }, '/template/format'],
  [{ maxPromptChars: 0 }, '/template/maxPromptChars'],
  [{ maxPromptChars: 10 }, '/template/maxPromptChars'],
])('the template %j is refused', (given, pointer) => {
  expect(refusalOf(() => promptOf(context, given))).toMatchObject({ errors: [{ pointer }] });
});

test('an empty context is refused if the template requires it, and a prompt of exactly the limit is accepted', () => {
  const empty = { ...context, chunkCount: 0 };
  expect(refusalOf(() => promptOf(empty, { failOnEmptyContext: true })).code).toBe('validation_failed');
  const { prompt } = promptOf(empty, {});
  expect(promptOf(empty, { maxPromptChars: prompt.length }).prompt).toBe(prompt);
});
