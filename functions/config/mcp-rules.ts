import { mcpDefaults, mcpPreviews } from '../../contracts/generated/mcp/exposures.ts';
import { hasApiKeys } from './api-key-settings.ts';
import type { Rule, RuleFault } from './rule.ts';
import { table } from './table.ts';

/** Rules of the settings of the MCP endpoint. */

const {
  revisions,
  enabledOperations,
  disabledOperations,
  previewTools,
  bodyBytesMax,
  resource,
  authorizationServers,
  scopesSupported,
} = table.mcp;

const MCP_PATH = '/mcp';

/** An endpoint that refuses every client would look like one that is broken. */
const anyRevision: Rule = ({ mcp }) =>
  mcp.revisions.length > 0 ? [] : [{ key: revisions.key, message: 'is empty: no client could connect' }];

/** A wrong id would leave an operation offered, or not offered, against the operator's will. */
const knownOperations: Rule = ({ mcp }) =>
  [enabledOperations, disabledOperations].flatMap(({ key }, at): RuleFault[] => {
    const ids = at === 0 ? mcp.enabledOperations : mcp.disabledOperations;
    return ids.flatMap((id, index) => {
      const message = faultOfName(id, at === 0);
      return message === null ? [] : [{ key: `${key}:${index}`, message }];
    });
  });

function faultOfName(id: string, isEnabled: boolean): string | null {
  if (mcpPreviews.has(id)) return isEnabled ? `names a preview, which ${previewTools.key} offers` : null;
  if (Object.hasOwn(mcpDefaults, id)) return null;
  return `names no operation that the endpoint can offer: these are ${Object.keys(mcpDefaults).join(', ')}`;
}

const oneWish: Rule = ({ mcp }) =>
  mcp.enabledOperations.flatMap((id, index) =>
    mcp.disabledOperations.includes(id)
      ? [{ key: `${enabledOperations.key}:${index}`, message: `stands in ${disabledOperations.key}, too` }]
      : [],
  );

const withinGateway: Rule = ({ mcp, server }) => {
  const { messageBytesMax } = server;
  if (messageBytesMax === null || mcp.bodyBytesMax <= messageBytesMax) return [];
  const message = `is more than ${table.server.messageBytesMax.key}, which the platform in front carries`;
  return [{ key: bodyBytesMax.key, message }];
};

const wholeMetadata: Rule = ({ mcp }) => {
  const servers = mcp.authorizationServers.length > 0;
  if (mcp.resource !== null && !servers)
    return [{ key: authorizationServers.key, message: `is empty, but ${resource.key} is set` }];
  if (mcp.resource === null && (servers || mcp.scopesSupported.length > 0)) {
    const given = servers ? authorizationServers : scopesSupported;
    return [{ key: resource.key, message: `is missing: ${given.key} is set` }];
  }
  if (mcp.resource?.endsWith('/') === true)
    return [{ key: resource.key, message: 'must not end with a slash' }];
  // Clients make the address of the metadata of this path, and no other is served.
  if (mcp.resource !== null && new URL(mcp.resource).pathname !== MCP_PATH)
    return [{ key: resource.key, message: `must have the path ${MCP_PATH}, where the endpoint is` }];
  return [];
};

/** With keys, a lone token in `Authorization` is an attempt at a key: a client that follows the metadata would be refused. */
const metadataWithoutKeys: Rule = (settings) => {
  if (settings.mcp.resource === null || !hasApiKeys(settings)) return [];
  const message =
    'is set beside an API key, where a token in Authorization is read as a key: remove one of them';
  return [{ key: resource.key, message }];
};

export const mcpRules: readonly Rule[] = [
  anyRevision,
  knownOperations,
  oneWish,
  withinGateway,
  wholeMetadata,
  metadataWithoutKeys,
];
