import { PageTokens } from '../../functions/kernel/page-token.ts';

/** The tokens of lists of a deployment of which only tests know. */
export function pageTokens(secret: string): PageTokens {
  return new PageTokens(() => Promise.resolve(Buffer.from(secret)));
}

/** For pages of jobs whose bytes no process counts. */
export const UNCOUNTED = { hold: () => undefined, grow: () => undefined };
