import type { JsonObject } from '../kernel/canonical-json.ts';
import type { ToolDefinition } from './catalog.ts';
import { parameterHeadersOf } from './parameter-headers.ts';

/**
 * The faults of tool definitions, a sentence each, for the tests of a catalog. Clients drop a definition that breaks the rules of the
 * revision, and a model may act on every text in it.
 */
export function definitionFaults(definitions: readonly ToolDefinition[]): string[] {
  const names = definitions.map(({ name }) => name);
  return definitions.flatMap((definition, at) => {
    const faults = [
      ...nameFaults(definition, names.slice(0, at)),
      ...schemaFaults(definition.inputSchema),
      ...faultsWithin(definition),
    ];
    if (definition.annotations === undefined) faults.push('has no annotations');
    return faults.map((fault) => `${definition.name.slice(0, 128)} ${fault}`);
  });
}

function nameFaults({ name }: ToolDefinition, before: readonly string[]): string[] {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) return ['is no name of a tool'];
  return before.includes(name) ? ['is defined twice'] : [];
}

function schemaFaults(inputSchema: JsonObject): readonly string[] {
  if (inputSchema['type'] !== 'object') return ['takes arguments that are no object'];
  return parameterHeadersOf(inputSchema).faults.map((fault) => `has a fault: ${fault}`);
}

/**
 * The faults in the texts of any other value that a model may read, such as a resource.
 * @testonly
 */
export function faultsWithin(value: unknown): string[] {
  return textsOf(value).flatMap(textFaults);
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    // The dialect of a schema is a URL, which is no text for a model.
    name === '$schema' ? [] : [name, ...textsOf(item)],
  );
}

/** Texts that could steer a model, or hide words from a person who reads them. */
const banned: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['hidden characters', /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u],
  ['markup', /<[a-z!/]/i],
  ['a URL', /\b(?:https?|ftp|data|javascript):/i],
  [
    'an instruction',
    /\b(?:ignore|disregard|forget) (?:all |any |the )?(?:previous|prior|above|other)\b|\bsystem prompt\b|\bdo not (?:tell|mention|reveal|show)\b|\byou (?:must|should|are)\b|\balways call\b/i,
  ],
];

export function textFaults(text: string): string[] {
  return banned.flatMap(([what, pattern]) => (pattern.test(text) ? [`has a text with ${what}`] : []));
}
