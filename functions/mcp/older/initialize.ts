import { isJsonObject } from '../../kernel/json-kinds.ts';
import { catalogCapabilities } from '../discover.ts';
import { isImplementation } from '../envelope.ts';
import { invalidParams } from '../errors.ts';
import type { AnswerMethod } from '../exchange.ts';

/**
 * Agrees on a revision, from this request alone: there is no session, and any instance answers the requests after it. `ping` and
 * these capabilities are all that older revisions have beside the methods that they share with the newest.
 */
export const initialize: AnswerMethod = async ({ parts: { catalog }, call, context }) => {
  const { protocolVersion, capabilities, clientInfo } = call.params;
  if (typeof protocolVersion !== 'string')
    throw invalidParams('Invalid params: the protocol version is not a string');
  if (!isJsonObject(capabilities))
    throw invalidParams('Invalid params: the client capabilities are not an object');
  if (!isImplementation(clientInfo))
    throw invalidParams('Invalid params: the client info has no name or no version');
  const { instructions, olderInstructions = instructions } = catalog;
  return {
    protocolVersion: context.revision,
    capabilities: catalogCapabilities(catalog),
    serverInfo: catalog.serverInfo,
    ...(olderInstructions === undefined ? {} : { instructions: olderInstructions }),
  };
};

export const answerPing: AnswerMethod = () => Promise.resolve({});
