import type { Rule } from './rule.ts';
import { table } from './table.ts';

/** Rules of the settings of embeddings. */

const builtIn: ReadonlySet<string> = new Set(['local-token-hash', 'deterministic-hash']);

const knownProvider: Rule = ({ embeddings }) => {
  if (builtIn.has(embeddings.provider)) return [];
  const message = `names no provider: it may be ${[...builtIn].join(' or ')}`;
  return [{ key: table.embeddings.provider.key, message }];
};

export const embeddingRules: readonly Rule[] = [knownProvider];
