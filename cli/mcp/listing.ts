import { createHash } from 'node:crypto';
import pins from '../../contracts/mcp-pins.json' with { type: 'json' };
import type { Json } from '../../functions/kernel/canonical-json.ts';
import { isJsonObject, isWithinDepth, type JsonMembers } from '../../functions/kernel/json-kinds.ts';
import type { McpTool, ToolDefinition } from '../../functions/mcp/catalog.ts';
import { definitionFaults, textFaults } from '../../functions/mcp/definitions.ts';
import { instructionsDefinition } from '../../functions/mcp/service/instructions.ts';
import { withListedWords } from '../../functions/mcp/service/listed-words.ts';

/** One thing that the check looked at. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

export function finding(name: string, ok: boolean, detail: string): Finding {
  return { check: name, ok, detail };
}

/** The offer of an endpoint in its own words: of any shape. */
export interface Listing {
  readonly instructions: unknown;
  readonly tools: readonly unknown[];
  readonly resources: readonly unknown[];
}

/** Deeper definitions than a client reads; those of the service have some ten levels. */
const DEPTH_MAX = 64;

/**
 * Texts and hashes are looked at only where the shape allows it. `own` are the definitions of this release: a caller sees their texts
 * without the sentences on tools that it does not see.
 */
export function listingFindings(
  { instructions, tools, resources }: Listing,
  own: readonly ToolDefinition[] = [],
): readonly Finding[] {
  const toolFaults = tools.flatMap((each, at) => shapeFaults(each, at, isTool));
  const resourceFaults = resources.flatMap((each, at) => shapeFaults(each, at, isResource));
  const known = tools.filter((each) => isShallow(each) && isTool(each)) as JsonMembers[];
  const others = resources.filter((each) => isShallow(each) && isResource(each)) as JsonMembers[];
  const textFaultsFound = textFaults(typeof instructions === 'string' ? instructions : '');
  const faults = [
    ...textFaultsFound.map((fault) => `instructions ${fault}`),
    ...definitionFaults(known as unknown as readonly ToolDefinition[]),
  ];
  const text = instructionsDefinition(typeof instructions === 'string' ? instructions : null);
  const names = new Set(known.map(({ name }) => name));
  const forms = formsOf(own.filter(({ name }) => names.has(name)));
  const foreign = [text, ...known, ...others].filter(
    (each) => !isOfThisRelease(each) && !forms.has(hashOf(each)),
  );
  const none = tools.length === 0 ? ['this caller is offered no tool'] : [];
  return [
    listed('tools/list', [...none, ...toolFaults], `${tools.length} tools`),
    listed('resources/list', resourceFaults, `${resources.length} resources`),
    finding('texts', faults.length === 0, faults.join('; ') || 'none instructs, hides or links'),
    finding('hashes', foreign.length === 0, foreign.map(nameOf).join(', ') || 'those of this release'),
  ];
}

function listed(name: string, faults: readonly string[], count: string): Finding {
  return finding(name, faults.length === 0, faults.join('; ') || count);
}

function shapeFaults(item: unknown, at: number, isWhole: (item: unknown) => boolean): string[] {
  if (!isShallow(item)) return [`item ${at} is nested deeper than ${DEPTH_MAX} levels`];
  return isWhole(item) ? [] : [`item ${at} lacks a member, or has one of another type`];
}

function isTool(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  const { name, description, inputSchema } = item;
  return typeof name === 'string' && typeof description === 'string' && isJsonObject(inputSchema);
}

function isResource(item: unknown): boolean {
  return isJsonObject(item) && typeof item['uri'] === 'string' && typeof item['name'] === 'string';
}

function isShallow(item: unknown): boolean {
  return isWithinDepth(item as Json, DEPTH_MAX);
}

function nameOf({ uri, name }: JsonMembers): string {
  return String(uri ?? name);
}

/** Whether the definition has the hash under which this release knows it. */
function isOfThisRelease(definition: JsonMembers): boolean {
  const known: Readonly<Record<string, string>> = pins;
  return known[nameOf(definition)] === hashOf(definition);
}

function hashOf(definition: object): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(definition)).digest('hex')}`;
}

/** The hashes of the definitions as a caller sees them that sees these alone. */
function formsOf(own: readonly ToolDefinition[]): ReadonlySet<string> {
  const tools = own.map((definition) => ({ definition }));
  return new Set(
    withListedWords(tools as unknown as readonly McpTool[]).map((each) => hashOf(each.definition)),
  );
}
