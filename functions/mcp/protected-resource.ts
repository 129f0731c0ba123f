import type { RawResponse } from '../http/message.ts';

/** Metadata from which clients learn the issuers of tokens for the endpoint (RFC 9728). */

/** The path of the endpoint. */
export const MCP_PATH = '/mcp';
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** The path of the metadata: the well-known prefix, then the path of the endpoint (RFC 9728 section 3.1). */
export const METADATA_PATH = `${WELL_KNOWN}${MCP_PATH}`;

export interface ProtectedResource {
  /** The address that clients use for the endpoint. */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopesSupported: readonly string[];
}

export function metadataAnswer(described: ProtectedResource): RawResponse {
  const { resource, authorizationServers, scopesSupported } = described;
  const document = {
    resource,
    authorization_servers: authorizationServers,
    ...(scopesSupported.length > 0 ? { scopes_supported: scopesSupported } : {}),
    bearer_methods_supported: ['header'],
  };
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'public, max-age=300'],
    ],
    body: JSON.stringify(document),
    close: false,
  };
}

/** The `WWW-Authenticate` challenge of a 401 (RFC 6750 section 3, RFC 9728 section 5.1). */
export function challengeOf(described: ProtectedResource | null): string {
  if (described === null) return 'Bearer realm="svc"';
  const { origin, pathname } = new URL(described.resource);
  const scope =
    described.scopesSupported.length > 0 ? `, scope="${described.scopesSupported.join(' ')}"` : '';
  return `Bearer realm="svc", resource_metadata="${origin}${WELL_KNOWN}${pathname}"${scope}`;
}
