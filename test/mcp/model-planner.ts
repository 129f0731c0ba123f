import type { Json, JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { Members, Step, Wish } from './model-tasks-types.ts';
import { best, chosenValue, commonWords, wordsOf } from './model-words.ts';

/**
 * Makes a call from words and from what the list of tools says: names, descriptions, types, closed sets and required members. It
 * has no names of tools and members of its own, so a schema that loses what a task needs makes it fail.
 */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
}

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
}

/** Where the planner reads beside the list. */
export interface Sources {
  /** A value of the texts of earlier answers. */
  readonly readText: (name: string, beside: string | null) => Json;
  /** The schema that the resource with this address describes. */
  readonly readSchema: (uri: string) => Promise<Schema>;
}

export interface PlannedCall {
  readonly tool: ListedTool;
  readonly given: JsonObject;
}

export async function planCall(
  tools: readonly ListedTool[],
  { words, with: wishes }: Step,
  sources: Sources,
): Promise<PlannedCall> {
  const tool = toolFor(tools, words);
  return { tool, given: await membersFor(wishes, [tool.inputSchema], sources) };
}

/** The tool whose name and description have most of the words. A sentence that leads to another tool speaks for that one. */
function toolFor(tools: readonly ListedTool[], words: string): ListedTool {
  const asked = wordsOf(words);
  const texts = tools.map((tool) => ({ tool, text: `${tool.name} ${evidenceFor(tool, tools)}` }));
  const spread = (word: string) => texts.filter(({ text }) => commonWords([word], text) > 0).length;
  const scored = texts.map(({ tool, text }) => ({
    tool,
    // A word that few tools have says more.
    score: asked.reduce((sum, word) => sum + commonWords([word], text) / (spread(word) || 1), 0),
  }));
  const found = best(scored);
  if (found === null) throw new Error(`no tool alone is described by: ${words}`);
  return found.tool;
}

function evidenceFor({ name, description }: ListedTool, tools: readonly ListedTool[]): string {
  const own = clausesOf(description).filter((clause) => !leads.test(clause));
  const elsewhere = tools.flatMap((other) => {
    const isHere = (clause: string) => leads.test(clause) && new RegExp(`\\b${name}\\b`).test(clause);
    return other.name === name ? [] : clausesOf(other.description).filter(isHere);
  });
  return [...own, ...elsewhere].join(' ').replaceAll(/\bsvc_\w+/g, '');
}

const leads = /^(?:(?:for|to) .*\b)?svc_\w+/i;
const clausesOf = (description: string) => description.split(/[.;]\s|, (?=for |to )/i);

/** The members for the wishes: those of the last of the schemas, where the others are around it. */
async function membersFor(wishes: Members, around: readonly Schema[], sources: Sources): Promise<JsonObject> {
  const given: Record<string, Json> = {};
  const rare: Record<string, Json> = {};
  for (const wish of wishesOf(wishes)) {
    const listed = memberFor(wish, around);
    const found = listed ?? (await rareMemberFor(wish, around, sources));
    if (found === null) throw new Error(`no member is described by: ${wish.words}`);
    const chosen = await valueFor(wish, found, around, sources);
    if (listed !== null) given[found.name] = chosen;
    else {
      rare[found.name] = chosen;
      given['advanced'] = rare;
    }
  }
  return given;
}

/** Rare members stand beside the others in the words of a task. */
function wishesOf({ advanced, ...others }: Members): readonly Wish[] {
  return [...Object.values(others), ...(advanced?.kind === 'parts' ? Object.values(advanced.parts) : [])];
}

interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string;
}

/** The member whose name and description have most of the words; at least half of them, and one in its description. */
function memberFor(wish: Wish, around: readonly Schema[]): Member | null {
  const asked = wordsOf(wish.words);
  const scored = Object.entries(around.at(-1)?.properties ?? {}).map(([name, schema]) => {
    const description = describedBy(name, schema, around);
    const named = [description, ...(schema.enum ?? schema.items?.enum ?? [])].join(' ');
    const text = `${name} ${named}`;
    const score = commonWords(asked, text);
    const isNamed = description !== '' && commonWords(asked, named) > 0 && score * 2 >= asked.length;
    // Of two with as many of the words, the one that says less else.
    const share = score / (wordsOf(text).length + 1);
    return { name, schema, description, score: isNamed && takes(schema, wish) ? score + share : 0 };
  });
  return best(scored);
}

/** A member without a description that repeats one of an object around it is described there. */
function describedBy(name: string, schema: Schema, around: readonly Schema[]): string {
  const repeated = () =>
    around.slice(0, -1).findLast(({ properties }) => properties?.[name] !== undefined)?.properties?.[name];
  const description = schema.description ?? repeated()?.description ?? '';
  return description.replaceAll(/svc:\S+/g, '');
}

/** A member that the list does not describe, but the resource that it names. */
async function rareMemberFor(
  wish: Wish,
  around: readonly Schema[],
  { readSchema }: Sources,
): Promise<Member | null> {
  const [uri] =
    /svc:\/\/tools\/\w+\/v1/.exec(around.at(-1)?.properties?.['advanced']?.description ?? '') ?? [];
  return uri === undefined ? null : memberFor(wish, [await readSchema(uri)]);
}

function takes({ type, items, properties, enum: values }: Schema, wish: Wish): boolean {
  if (wish.kind === 'parts') return properties !== undefined;
  if (wish.kind === 'each') return items?.properties !== undefined;
  if (wish.kind === 'choice') return (values ?? items?.enum) !== undefined;
  if (wish.kind === 'read') return type === 'string' || type === 'integer';
  // A name that the task says as it is.
  if (values !== undefined && !values.some((each) => each === wish.value)) return false;
  return type === undefined || typesOf(wish.value).some((each) => [type].flat().includes(each));
}

function typesOf(given: Json): readonly string[] {
  if (Array.isArray(given)) return ['array'];
  return Number.isInteger(given) ? ['integer', 'number'] : [typeof given];
}

async function valueFor(
  wish: Wish,
  { schema, description }: Member,
  around: readonly Schema[],
  sources: Sources,
): Promise<Json> {
  if (wish.kind === 'value') return wish.value;
  if (wish.kind === 'read') return sources.readText(wish.name, wish.beside);
  if (wish.kind === 'parts') return membersFor(wish.parts, [...around, schema], sources);
  if (wish.kind === 'each') {
    const inner = [...around, schema.items ?? {}];
    return Promise.all(wish.items.map((item) => membersFor(item, inner, sources)));
  }
  const chosen = chosenValue(wish.words, schema.enum ?? schema.items?.enum ?? [], description);
  if (chosen === null) throw new Error(`no value of the closed set is described by: ${wish.words}`);
  return schema.enum === undefined ? [chosen] : chosen;
}
