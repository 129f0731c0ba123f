import { createHash } from 'node:crypto';
import { type CatalogOperation, canonicalRoute } from './catalog.ts';
import { type MappedTool, mappedTool } from './mcp/tool.ts';
import type { WrittenMap } from './mcp/types.ts';
import { HEADER } from './print.ts';
import type { Json } from './schema.ts';
import type { ContractSource } from './source.ts';

/**
 * The catalog of the MCP endpoint: the definitions that models read. Every text in it comes from the contract, so that no
 * value of a caller ever stands in one.
 */

interface McpDefinition {
  readonly operationId: string;
  readonly group: string;
  readonly exposure: 'tool' | 'preview' | 'task' | 'resource';
  readonly definition: Json;
  /** How the service makes a request of the arguments, and a result of the answer. Absent for a resource. */
  readonly map?: WrittenMap;
  /** The schema of the argument `advanced`. */
  readonly advanced?: Json;
}

/** @testonly */
export function mcpDefinitions(source: ContractSource): readonly McpDefinition[] {
  return source.catalog.operations.flatMap((operation): McpDefinition[] => {
    const { id: operationId, group, mcp } = operation;
    const { exposure } = mcp;
    if (exposure === 'none') return [];
    if (exposure === 'resource') return [{ operationId, group, exposure, definition: resourceOf(operation) }];
    const mapped = mappedTool(source, operation);
    const { map, advanced } = mapped;
    const definition = toolOf(source, operation, mapped);
    return [{ operationId, group, exposure, definition, map, ...(advanced === null ? {} : { advanced }) }];
  });
}

/** `definitions.json`: all definitions, and the hash by which a client sees that they changed. */
export function emitMcpDefinitions(source: ContractSource): object {
  const definitions = mcpDefinitions(source);
  const text = JSON.stringify([source.version, definitions]);
  return { contentVersion: createHash('sha256').update(text).digest('hex').slice(0, 16), definitions };
}

/** `exposures.ts`: what the settings need to know, without names and schemas: each function reads it at its start. */
export function emitMcpExposures({ catalog }: ContractSource): string {
  const named = catalog.operations.filter(({ mcp }) => !['none', 'preview'].includes(mcp.exposure));
  const rows = named.map(({ id, mcp }) => `  ${id}: ${mcp.defaultEnabled},\n`);
  const previews = catalog.operations.filter(({ mcp }) => mcp.exposure === 'preview');
  return [
    HEADER,
    '',
    '/** The operations that the MCP endpoint can offer, in the order of the catalog, and whether it does without a setting. */',
    `export const mcpDefaults: Readonly<Record<string, boolean>> = {\n${rows.join('')}};`,
    '',
    '/** The operations whose tools only the setting for previews offers. */',
    `export const mcpPreviews: ReadonlySet<string> = new Set([\n${previews.map(({ id }) => `  '${id}',\n`).join('')}]);`,
    '',
  ].join('\n');
}

function resourceOf({ id, summary, description, mcp, responses }: CatalogOperation): Json {
  const [answer] = responses;
  return {
    uri: mcp.uri,
    name: id,
    title: summary,
    description,
    mimeType: answer?.mediaType ?? 'application/json',
  };
}

function toolOf(source: ContractSource, operation: CatalogOperation, mapped: MappedTool): Json {
  const { id, mcp } = operation;
  const stability = stabilityOf(operation);
  const isRead = operation.mutation === 'read';
  return {
    name: mcp.name,
    title: mapped.title,
    description: descriptionOf(operation, mapped.description),
    inputSchema: mapped.inputSchema,
    outputSchema: mapped.outputSchema,
    annotations: {
      readOnlyHint: isRead,
      // The other hints have a meaning for writes alone.
      ...(isRead ? {} : { destructiveHint: !isJobOfRead(source, operation), idempotentHint: false }),
      openWorldHint: mcp.exposure === 'task',
    },
    _meta: {
      'svc.runtime/operation': id,
      ...(stability === 'public' ? {} : { 'svc.runtime/stability': stability }),
    },
  };
}

/** Whether the job does what an operation does that only reads: its path is that one's, with `/jobs` behind it. */
function isJobOfRead({ catalog }: ContractSource, operation: CatalogOperation): boolean {
  const { method, path } = canonicalRoute(operation);
  if (operation.mcp.exposure !== 'task' || !path.endsWith('/jobs')) return false;
  const plain = path.slice(0, -'/jobs'.length);
  return catalog.operations.some(
    (other) =>
      other.mutation === 'read' &&
      other.routes.some((route) => route.method === method && route.path === plain),
  );
}

/** A preview is a preview of a tool, although programs may rely on its operation. */
function stabilityOf({ stability, mcp }: CatalogOperation): CatalogOperation['stability'] {
  return mcp.exposure === 'preview' ? 'preview' : stability;
}

function descriptionOf(operation: CatalogOperation, description: string): string {
  const { deprecation, mcp } = operation;
  const stability = stabilityOf(operation);
  const task = mcp.exposure === 'task' ? ' Runs as a task; its result is the finished job.' : '';
  if (stability === 'preview') return `Preview, may change. ${description}${task}`;
  if (deprecation === null) return `${description}${task}`;
  return `Deprecated since ${deprecation.since}; use ${deprecation.replacement} instead. ${description}${task}`;
}
