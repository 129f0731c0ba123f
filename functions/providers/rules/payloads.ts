import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import type { OfferedCapability } from './capabilities.ts';
import {
  InvalidPayload,
  listOf,
  objectOf,
  optionalCount,
  optionalList,
  optionalObject,
  optionalText,
  textOf,
} from './payload-members.ts';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}
export interface ChatPayload {
  readonly capability: 'ai.chat';
  readonly messages: readonly ChatMessage[];
  readonly system: string | null;
  readonly maxOutputChars: number;
  /** The content of the last message of the user. */
  readonly lastContent: string;
}
export interface EmbeddingPayload {
  readonly capability: 'ai.embedding';
  readonly texts: readonly string[];
  readonly purpose: EmbeddingPurposeWord;
}
export interface ExtractPayload {
  readonly capability: 'ai.extract';
  readonly text: string;
  readonly schema: JsonObject | null;
  readonly instructions: string | null;
}
export interface RerankCandidate {
  readonly id: string;
  readonly text: string;
}
export interface RerankPayload {
  readonly capability: 'ai.rerank';
  readonly query: string;
  readonly candidates: readonly RerankCandidate[];
  readonly limit: number;
}
export interface ReviewPayload {
  readonly capability: 'ai.review';
  /** The text to review: `subject`, else `prompt`. */
  readonly subject: string;
  readonly prompt: string | null;
  readonly instructions: string | null;
  readonly references: readonly JsonObject[];
  readonly maxFindings: number;
}
export interface ScaffoldPayload {
  readonly capability: 'ai.scaffold';
  readonly prompt: string;
  readonly instructions: string | null;
  readonly target: string | null;
  readonly references: readonly JsonObject[];
  readonly allowedPaths: readonly string[];
  readonly maxArtifacts: number;
}
interface PlannableTool {
  readonly name: string;
  readonly description: string | null;
  readonly inputSchema: JsonObject | null;
}
export interface ToolPlanPayload {
  readonly capability: 'ai.toolPlan';
  readonly prompt: string;
  readonly tools: readonly PlannableTool[];
}

export type RunPayload =
  | ChatPayload
  | EmbeddingPayload
  | ExtractPayload
  | RerankPayload
  | ReviewPayload
  | ScaffoldPayload
  | ToolPlanPayload;

const OUTPUT_CHARS_DEFAULT = 512;
const FINDINGS_DEFAULT = 20;
const ARTIFACTS_DEFAULT = 1;
const TEXTS_MAX = 128;
const roles: ReadonlySet<string> = new Set(['system', 'user', 'assistant']);
const purposes = ['query', 'passage', 'document', 'symmetric'] as const;
export type EmbeddingPurposeWord = (typeof purposes)[number];

/** The payload of a capability. Throws `InvalidPayload`; members that the capability does not have are ignored. */
export function readPayload(capability: OfferedCapability, payload: Json): RunPayload {
  return readers[capability](objectOf(payload, 'payload'));
}

const readers: { readonly [Name in OfferedCapability]: (payload: JsonObject) => RunPayload } = {
  'ai.chat': readChat,
  'ai.embedding': readEmbedding,
  'ai.extract': ({ text, schema, instructions }) => ({
    capability: 'ai.extract',
    text: textOf(text, 'text'),
    schema: optionalObject(schema, 'schema'),
    instructions: optionalText(instructions, 'instructions'),
  }),
  'ai.rerank': readRerank,
  'ai.review': readReview,
  'ai.scaffold': ({ prompt, instructions, target, references, allowedPaths, maxArtifacts }) => ({
    capability: 'ai.scaffold',
    prompt: textOf(prompt, 'prompt'),
    instructions: optionalText(instructions, 'instructions'),
    target: optionalText(target, 'target'),
    references: referencesOf(references),
    allowedPaths: optionalList(allowedPaths, 'allowedPaths').map((each, at) => pathOf(each, at)),
    maxArtifacts: optionalCount(maxArtifacts, 'maxArtifacts') ?? ARTIFACTS_DEFAULT,
  }),
  'ai.toolPlan': ({ prompt, tools }) => ({
    capability: 'ai.toolPlan',
    prompt: textOf(prompt, 'prompt'),
    tools: optionalList(tools, 'tools').map((each, at) => toolOf(objectOf(each, `tools/${at}`), at)),
  }),
};

function readChat({ messages, system, maxOutputChars }: JsonObject): ChatPayload {
  const read = listOf(messages, 'messages').map((each, at) =>
    messageOf(objectOf(each, `messages/${at}`), at),
  );
  const last = read.findLast(({ role }) => role === 'user');
  if (last === undefined) throw new InvalidPayload('messages must have one of the user');
  return {
    capability: 'ai.chat',
    messages: read,
    system: optionalText(system, 'system'),
    maxOutputChars: optionalCount(maxOutputChars, 'maxOutputChars') ?? OUTPUT_CHARS_DEFAULT,
    lastContent: last.content,
  };
}

function messageOf({ role, content, contentBlocks }: JsonObject, at: number): ChatMessage {
  const name = textOf(role, `messages/${at}/role`);
  if (!roles.has(name)) throw new InvalidPayload(`messages/${at}/role must be system, user or assistant`);
  if (optionalList(contentBlocks, `messages/${at}/contentBlocks`).length > 0)
    throw new InvalidPayload(`messages/${at}/contentBlocks are not supported`);
  return { role: name, content: textOf(content, `messages/${at}/content`) };
}

function readEmbedding({ text, texts, purpose }: JsonObject): EmbeddingPayload {
  const given = [...(text === undefined || text === null ? [] : [text]), ...optionalList(texts, 'texts')];
  if (given.length === 0 || given.length > TEXTS_MAX)
    throw new InvalidPayload(`text and texts must be 1 to ${TEXTS_MAX} texts`);
  const word = (optionalText(purpose, 'purpose') ?? 'symmetric').trim().toLowerCase();
  const known = purposes.find((each) => each === word);
  if (known === undefined) throw new InvalidPayload(`purpose must be one of ${purposes.join(', ')}`);
  return {
    capability: 'ai.embedding',
    texts: given.map((each, at) => textOf(each, `texts/${at}`)),
    purpose: known,
  };
}

function readRerank({ query, candidates, limit }: JsonObject): RerankPayload {
  const read = listOf(candidates, 'candidates').map((each, at) => {
    const { id, text } = objectOf(each, `candidates/${at}`);
    const words = optionalText(text, `candidates/${at}/text`);
    if (words === null) throw new InvalidPayload(`candidates/${at}/text must be a text`);
    return { id: textOf(id, `candidates/${at}/id`), text: words };
  });
  if (new Set(read.map(({ id }) => id)).size < read.length)
    throw new InvalidPayload('candidates must have different ids');
  return {
    capability: 'ai.rerank',
    query: textOf(query, 'query'),
    candidates: read,
    limit: optionalCount(limit, 'limit') ?? read.length,
  };
}

function readReview({ prompt, subject, instructions, references, maxFindings }: JsonObject): ReviewPayload {
  const asked = optionalText(prompt, 'prompt');
  const given = optionalText(subject, 'subject');
  return {
    capability: 'ai.review',
    subject: textOf(given === null || given.trim() === '' ? asked : given, 'subject or prompt'),
    prompt: asked,
    instructions: optionalText(instructions, 'instructions'),
    references: referencesOf(references),
    maxFindings: optionalCount(maxFindings, 'maxFindings') ?? FINDINGS_DEFAULT,
  };
}

function toolOf({ name, description, inputSchema }: JsonObject, at: number): PlannableTool {
  return {
    name: textOf(name, `tools/${at}/name`),
    description: optionalText(description, `tools/${at}/description`),
    inputSchema: optionalObject(inputSchema, `tools/${at}/inputSchema`),
  };
}

/** References are returned unchanged. */
function referencesOf(value: Json | undefined): readonly JsonObject[] {
  return optionalList(value, 'references').map((each, at) => {
    const reference = objectOf(each, `references/${at}`);
    textOf(reference['id'], `references/${at}/id`);
    textOf(reference['kind'], `references/${at}/kind`);
    return reference;
  });
}

/** A relative path inside the caller's tree: the model that writes the proposal must not leave the tree. */
function pathOf(value: Json, at: number): string {
  const path = textOf(value, `allowedPaths/${at}`);
  if (isInnerPath(path)) return path;
  throw new InvalidPayload(`allowedPaths/${at} must be a relative path without empty and dotted segments`);
}

export function isInnerPath(path: string): boolean {
  return !/[\\\p{Cc}:]/u.test(path) && path.split('/').every((each) => !['', '.', '..'].includes(each));
}
