import { canonicalJson, type Json, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import { parseStrictJsonText, strictJsonLimits } from '../../kernel/strict-json.ts';
import { ProviderFailure } from '../failure.ts';
import { cut } from './deterministic.ts';
import { isInnerPath, type ReviewPayload, type ScaffoldPayload, type ToolPlanPayload } from './payloads.ts';
import type { PromptedPayload } from './prompts.ts';
import { proposedFile } from './proposed-file.ts';
import { valueWithoutSecret } from './without-secret.ts';

/** The answer of a chat model. */
export interface ChatCompletion {
  readonly text: string;
  /** Whether the model ended by itself, and not at its limit. */
  readonly isWhole: boolean;
}

/** Marks outputs of which only the shape was checked. */
const SHAPE_CHECKED = 'shape_checked';
/** The paths at which a review has numbers with fractions; data and arguments keep the spelling of their numbers. */
const REVIEW_FLOATS = ['/findings/*/confidence'];
const MESSAGE_LENGTH_MAX = 4_096;
const severities: ReadonlySet<unknown> = new Set(['info', 'low', 'medium', 'high', 'critical']);

/**
 * The output of a capability from an answer, without the key that was sent for it. Throws a `ProviderFailure` of the class `schema` that
 * repeats nothing of the answer.
 */
export function outputOf(
  payload: PromptedPayload,
  { text, isWhole }: ChatCompletion,
  secret: string | null = null,
): JsonObject {
  if (payload.capability === 'ai.chat') {
    const content = cut(text.toWellFormed(), payload.maxOutputChars);
    const stopReason = isWhole && content.length === text.length ? 'complete' : 'length';
    return { message: { role: 'assistant', content, contentBlocks: null }, stopReason };
  }
  if (!isWhole) throw wrong('output_truncated', 'The provider ended its answer at a limit.');
  // Removes the key before a text is cut, which might leave a part of the key, and before contents are hashed.
  const floats = payload.capability === 'ai.review' ? REVIEW_FLOATS : [];
  const answer = valueWithoutSecret(objectIn(text, floats), secret);
  switch (payload.capability) {
    case 'ai.extract':
      requireShape(payload.schema, answer);
      return { data: answer, validationStatus: SHAPE_CHECKED };
    case 'ai.review':
      return review(payload, answer);
    case 'ai.scaffold':
      return scaffold(payload, answer);
    default:
      return toolPlan(payload, answer);
  }
}

/** Some models put their JSON into a block of code. */
function unfenced(text: string): string {
  const block = text.trim();
  const head = /^```(?:json)?[ \t]*\n/.exec(block)?.[0];
  const isBlock = head !== undefined && block.length >= head.length + 3 && block.endsWith('```');
  return isBlock ? block.slice(head.length, -3) : text;
}

function objectIn(text: string, floats: readonly string[]): JsonObject {
  let value: unknown;
  try {
    value = parseStrictJsonText(unfenced(text), { ...strictJsonLimits, floats });
  } catch {
    throw wrong(
      'invalid_structured_output',
      'The provider answered a text that is no JSON, or not as strict as that of a request.',
    );
  }
  return objectOf(value as Json, 'The provider answered JSON that is no object.');
}

function requireShape(schema: JsonObject | null, answer: JsonObject): void {
  if (schema === null) return;
  const wanted = { required: schema['required'] ?? null };
  if (!fits(wanted, answer))
    throw wrong('missing_member', 'The provider left out a member that the schema requires.');
  if (!fits(schema, answer))
    throw wrong(
      'wrong_shape',
      'The provider answered a value that is not of the type that the schema asks for.',
    );
}

/**
 * Whether a value has the types, the members and the choices of a JSON Schema, at each depth. Its other keywords are
 * ignored: callers write the schema, and a pattern of theirs could run for any time.
 */
function fits(schema: Json | undefined, value: Json): boolean {
  if (!isObject(schema)) return true;
  const { type, enum: choices, required, properties, items } = schema;
  const types = [type ?? []].flat();
  if (types.length > 0 && !types.some((each) => isOfType(each, value))) return false;
  if (Array.isArray(choices) && !choices.some((each) => canonicalJson(each) === canonicalJson(value)))
    return false;
  if (Array.isArray(value)) return value.every((each) => fits(items, each));
  if (!isObject(value)) return true;
  if (
    Array.isArray(required) &&
    required.some((name) => typeof name === 'string' && !Object.hasOwn(value, name))
  )
    return false;
  return (
    !isObject(properties) ||
    Object.entries(properties).every(([name, each]) => {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      return member === undefined || fits(each, member);
    })
  );
}

/** A type that JSON Schema does not define allows any value. */
function isOfType(type: Json, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return true;
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function review({ references, maxFindings }: ReviewPayload, answer: JsonObject): JsonObject {
  const findings = listOf(answer['findings'], 'The provider answered no list of findings.');
  return {
    summary: textOf(answer['summary']) ?? '',
    findings: findings.slice(0, maxFindings).map(findingOf),
    validationStatus: SHAPE_CHECKED,
    references: [...references],
  };
}

function findingOf(value: Json): JsonObject {
  const finding = objectOf(value, 'The provider answered a finding that is no object.');
  const message = textOf(finding['message']);
  if (message === null) throw wrong('missing_member', 'The provider answered a finding without a message.');
  const { severity, confidence } = finding;
  const isShare = typeof confidence === 'number' && confidence >= 0 && confidence <= 1;
  return {
    id: `finding-${sha256(message).slice('sha256:'.length, 'sha256:'.length + 12)}`,
    severity: severities.has(severity) ? (severity ?? null) : 'info',
    category: textOf(finding['category']),
    message,
    location: { path: null, line: null, column: null, symbol: null },
    evidenceRefs: [],
    confidence: isShare ? confidence : null,
  };
}

function scaffold(
  { allowedPaths, maxArtifacts, references }: ScaffoldPayload,
  answer: JsonObject,
): JsonObject {
  const artifacts = listOf(answer['artifacts'], 'The provider answered no list of artifacts.');
  if (artifacts.length === 0) throw wrong('missing_member', 'The provider proposed no artifact.');
  return {
    summary: textOf(answer['summary']) ?? '',
    artifacts: artifacts.slice(0, maxArtifacts).map((each) => artifactOf(each, allowedPaths)),
    validationStatus: SHAPE_CHECKED,
    references: [...references],
  };
}

/** The model that writes the proposal must not leave the caller's tree. */
function artifactOf(value: Json, allowedPaths: readonly string[]): JsonObject {
  const { path, content } = objectOf(value, 'The provider proposed an artifact that is no object.');
  if (typeof path !== 'string' || typeof content !== 'string')
    throw wrong('missing_member', 'The provider proposed an artifact without a path or a content.');
  if (!isInnerPath(path) || (allowedPaths.length > 0 && !allowedPaths.includes(path)))
    throw wrong('path_not_allowed', 'The provider proposed an artifact at a path that is not allowed.');
  return proposedFile(path, content);
}

function toolPlan({ tools }: ToolPlanPayload, answer: JsonObject): JsonObject {
  const names = new Set(tools.map(({ name }) => name));
  const calls = listOf(answer['calls'], 'The provider answered no list of calls.').map((each): JsonObject => {
    const call = objectOf(each, 'The provider planned a call that is no object.');
    const tool = call['tool'];
    if (typeof tool !== 'string' || !names.has(tool))
      throw wrong('unknown_tool', 'The provider planned a call of a tool that was not offered.');
    const given = objectOf(call['arguments'] ?? {}, 'The provider planned a call without arguments.');
    return { tool, arguments: given, requiresApproval: true, rationale: textOf(call['rationale']) };
  });
  return { calls, validationStatus: SHAPE_CHECKED };
}

function objectOf(value: Json | undefined, message: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong('invalid_structured_output', message);
  return value as JsonObject;
}

function listOf(value: Json | undefined, message: string): readonly Json[] {
  if (!Array.isArray(value)) throw wrong('missing_member', message);
  return value;
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? cut(value, MESSAGE_LENGTH_MAX) : null;
}

function wrong(providerStatus: string, message: string): ProviderFailure {
  return new ProviderFailure('schema', providerStatus, message);
}
