import { inputTokensMax, type Usage, usageOf } from '../../providers/rules/usage.ts';

/** The usage of an embedding, from the tokens that the provider reports; `null`: it reports none. */
export function textsUsage(texts: readonly string[], reported: number | null): Usage {
  const input = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const most = { input: inputTokensMax(input, texts.length), output: 0 };
  return usageOf({ input: reported, output: 0 }, { input, output: 0 }, most);
}
