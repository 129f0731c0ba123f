import { catalogCapabilities } from '../discover.ts';
import { invalidParams } from '../errors.ts';
import type { AnswerMethod } from '../exchange.ts';

/**
 * Agrees on a revision, from this request alone: there is no session, and any instance answers the requests after it. `ping` and
 * these capabilities are all that older revisions have beside the methods that they share with the newest.
 */
export const initialize: AnswerMethod = async ({ parts: { catalog }, call, context }) => {
  if (typeof call.params['protocolVersion'] !== 'string')
    throw invalidParams('Invalid params: the protocol version is not a string');
  const { instructions, olderInstructions = instructions } = catalog;
  return {
    protocolVersion: context.revision,
    capabilities: catalogCapabilities(catalog),
    serverInfo: catalog.serverInfo,
    ...(olderInstructions === undefined ? {} : { instructions: olderInstructions }),
  };
};

export const answerPing: AnswerMethod = () => Promise.resolve({});
