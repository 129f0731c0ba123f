import type { Json } from '../../contracts/generate/schema.ts';

/** A tool as its texts are judged. */
export interface ToolTexts {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  /** The schema of the argument `advanced`. */
  readonly advanced?: Json | undefined;
}

/** The names that texts may have, and those that they may not have. */
export interface KnownNames {
  readonly tools: ReadonlySet<string>;
  readonly operations: readonly string[];
}

/** Words of REST, which a model that calls a tool never sees. */
const REST =
  /\bLink\b|\bheaders?\b|\bREST\b|\bHTTP\b|\bURL path\b|\b(?:GET|POST|PUT|PATCH|DELETE) \/|\/v\d+\/|https?:/;

/** Arguments that go on in an answer, and so need no example. */
const PAGING: ReadonlySet<string> = new Set(['answerOffset', 'continuationToken', 'include', 'advanced']);

/**
 * The faults of the texts of a tool for a model, a sentence each: when to use it and which other tool, an example of its arguments, where
 * its ids come from, and no word of REST.
 */
export function textFaults(tool: ToolTexts, { tools, operations }: KnownNames): readonly string[] {
  const { name, description, inputSchema, advanced } = tool;
  const texts = textsWithin([description, inputSchema, advanced ?? {}]);
  const whole = texts.join('\n');
  const named = new Set(whole.match(/\bsvc_[a-z0-9_]+_v\d+\b/g) ?? []);
  const members = membersOf(inputSchema);
  const own = members.filter(([argument]) => !PAGING.has(argument));
  const faults = [
    ...(/\bUse it\b/.test(description) ? [] : ['does not say when to use it']),
    ...([...named].some((each) => each !== name) ? [] : ['names no other tool']),
    ...[...named].filter((each) => !tools.has(each)).map((each) => `names ${each}, which does not exist`),
    ...(own.length > 0 && !/\bsuch as |[[{]"/.test(whole) ? ['has no example of an argument'] : []),
    ...members
      .filter(([, { description: text = '' }]) => text === '')
      .map(([each]) => `does not describe ${each}`),
    ...own
      .filter(
        ([each, { description: text = '' }]) =>
          ids.has(each) && !/svc_|answer|returned|operator|, such as/.test(text),
      )
      .map(([each]) => `does not say where ${each} comes from`),
  ];
  const rest = texts.filter((text) => REST.test(text)).map(() => 'has a word of REST');
  const other = operations.filter((id) => /[a-z][A-Z]/.test(id) && new RegExp(`\\b${id}\\b`).test(whole));
  return [...faults, ...rest, ...other.map((id) => `names the operation ${id}`)];
}

/** Arguments whose values only another answer has. */
const ids: ReadonlySet<string> = new Set([
  'collections',
  'handlerId',
  'id',
  'profile',
  'provider',
  'providerId',
  'runId',
]);

interface Member {
  readonly description?: string;
}

function membersOf(schema: Json): readonly (readonly [string, Member])[] {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, Member>> };
  return Object.entries(properties);
}

/** All descriptions within, and the text itself. */
function textsWithin(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((each: Json) => textsWithin(each));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as Readonly<Record<string, Json>>).flatMap(([keyword, each]) => {
    if (keyword === 'description') return typeof each === 'string' ? [each] : textsWithin(each);
    return typeof each === 'object' ? textsWithin(each) : [];
  });
}
