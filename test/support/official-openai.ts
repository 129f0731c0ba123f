import { createRequire } from 'node:module';
import { toolPath } from '../../scripts/tools.ts';

/** The members of the official client that tests use; their requests go beyond the models of its own types. */
export interface OfficialOpenAi {
  readonly chat: {
    readonly completions: { create(request: object): Promise<{ readonly choices: readonly object[] }> };
  };
  readonly embeddings: {
    create(request: object): Promise<{
      readonly data: readonly { readonly embedding: readonly number[] }[];
      readonly usage: { readonly prompt_tokens: number };
    }>;
  };
}

/** The official client of the package `openai`, which is one of the tools. */
export function officialOpenAi(options: object): OfficialOpenAi {
  const { OpenAI } = createRequire(import.meta.url)(toolPath('openai')) as {
    readonly OpenAI: new (options: object) => OfficialOpenAi;
  };
  return new OpenAI(options);
}
