import { PageTokens } from '../kernel/page-token.ts';
import { sharedSecret } from '../store/secret.ts';
import { layer } from './layer.ts';

/** The tokens of lists: every process of a deployment can read those of the others. */
export const pageTokensOf = layer(
  ({ store, world }) => new PageTokens(sharedSecret(store.get, world.random, 'page-tokens')),
);
