import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import type { McpTool, ToolDefinition } from '../catalog.ts';

/** Names of tools in a text. The address of a resource has the name of its own tool. */
const NAME = /(?<!\/)\bsvc_[a-z0-9_]+_v\d+\b/g;

/** The forms of tools whose texts name a tool that a caller does not see, by the names that are left out. */
const known = new WeakMap<McpTool, Map<string, McpTool>>();
const namesOf = new WeakMap<McpTool, readonly string[]>();

/** The tools of one list. A text that sends the model to a tool outside of the list would end in a refusal, so it is left out. */
export function withListedWords(tools: readonly McpTool[]): readonly McpTool[] {
  const listed = new Set(tools.map(({ definition }) => definition.name));
  return tools.map((tool) => {
    const names = namesOf.get(tool) ?? namesIn(tool.definition);
    namesOf.set(tool, names);
    const unlisted = names.filter((name) => !listed.has(name));
    return unlisted.length === 0 ? tool : without(tool, unlisted);
  });
}

function namesIn({ name, description, inputSchema }: ToolDefinition): readonly string[] {
  const texts = [description, JSON.stringify(inputSchema)].join(' ');
  return [...new Set(texts.match(NAME) ?? [])].filter((each) => each !== name).sort();
}

/** The same object for the same names: what is written of a definition is kept by it. */
function without(tool: McpTool, unlisted: readonly string[]): McpTool {
  const forms = known.get(tool) ?? new Map<string, McpTool>();
  known.set(tool, forms);
  const key = unlisted.join(' ');
  const form = forms.get(key) ?? {
    ...tool,
    definition: definitionWithout(tool.definition, new Set(unlisted)),
  };
  forms.set(key, form);
  return form;
}

function definitionWithout(definition: ToolDefinition, unlisted: ReadonlySet<string>): ToolDefinition {
  const { description, inputSchema } = definition;
  return {
    ...definition,
    description: wordsWithout(description, unlisted),
    inputSchema: schemaWithout(inputSchema, unlisted) as JsonObject,
  };
}

/** `{"description": "From svc_…"}` has no description without the tool. */
function schemaWithout(schema: Json, unlisted: ReadonlySet<string>): Json {
  if (isJsonList(schema)) return schema.map((item) => schemaWithout(item, unlisted));
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).map(([name, value]): [string, Json] => {
    const isText = name === 'description' && typeof value === 'string';
    return [name, isText ? wordsWithout(value, unlisted) : schemaWithout(value, unlisted)];
  });
  return Object.fromEntries(members.filter(([name, value]) => name !== 'description' || value !== ''));
}

/** The sentences of a text that send to no unlisted tool. */
function wordsWithout(text: string, unlisted: ReadonlySet<string>): string {
  const sentences = text.split(/(?<=\.) (?=[A-Z]|svc_)/).map((each) => sentenceWithout(each, unlisted));
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

/**
 * `A; svc_b then works.` is left with its first part, and `For a use svc_b, for c svc_d.` with the part whose tool is listed. A sentence
 * that is about the tool alone goes.
 */
function sentenceWithout(sentence: string, unlisted: ReadonlySet<string>): string {
  const sends = (part: string) => (part.match(NAME) ?? []).some((name) => unlisted.has(name));
  if (!sends(sentence)) return sentence;
  const [first = '', ...rest] = sentence.split('; ');
  if (rest.length > 0 && !sends(first)) return `${first}.`;
  const [one = '', other, ...more] = sentence.slice(0, -1).split(', for ');
  if (one.startsWith('For ') && other !== undefined && more.length === 0) {
    if (!sends(one)) return `${one}.`;
    const before = other.lastIndexOf(' ');
    return sends(other) ? '' : `For ${other.slice(0, before)} use ${other.slice(before + 1)}.`;
  }
  const source = /^(.+?),? from svc_\w+\.$/.exec(sentence);
  return source?.[1] === undefined ? '' : `${source[1]}.`;
}
