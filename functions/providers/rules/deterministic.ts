import { type Json, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import type {
  ChatPayload,
  ExtractPayload,
  ReviewPayload,
  RunPayload,
  ScaffoldPayload,
  ToolPlanPayload,
} from './payloads.ts';
import { proposedFile } from './proposed-file.ts';
import { rankByTokens } from './token-overlap.ts';

/** Marks results that are made by rule, so that no reader takes them for results of a model. */
const DETERMINISTIC = 'deterministic';

/** `sha256:` and 12 digits: enough to distinguish two texts, in a result that people read. */
const HASH_HEAD = 19;
const ALGORITHM = 'sha256:'.length;
const LINE_LENGTH_MAX = 240;

/** The output of the local providers for a payload; always the same. `null`: they have no such capability. */
export function deterministicOutput(payload: RunPayload): JsonObject | null {
  const output = outputOf(payload);
  return output === null ? null : withText(output);
}

/** The output and its text form, for callers that pass it on as a text. */
function withText(output: JsonObject): JsonObject {
  return { ...output, text: JSON.stringify(output) };
}

function outputOf(payload: RunPayload): JsonObject | null {
  switch (payload.capability) {
    case 'ai.chat':
      return chat(payload);
    case 'ai.extract':
      return extract(payload);
    case 'ai.rerank':
      return { items: rankByTokens(payload), validationStatus: DETERMINISTIC };
    case 'ai.review':
      return review(payload);
    case 'ai.scaffold':
      return scaffold(payload);
    case 'ai.toolPlan':
      return toolPlan(payload);
    default:
      return null;
  }
}

function chat({ lastContent, maxOutputChars }: ChatPayload): JsonObject {
  const hash = sha256(lastContent).slice(0, HASH_HEAD);
  const content = `[${hash}] ${cut(lastContent, maxOutputChars)}`;
  return { message: { role: 'assistant', content, contentBlocks: null }, stopReason: 'complete' };
}

function extract({ text, schema }: ExtractPayload): JsonObject {
  const facts = {
    inputHash: sha256(text),
    textLength: text.length,
    firstLine: cut(text.split(/\r\n|\r|\n/, 1)[0] ?? '', LINE_LENGTH_MAX),
  };
  const data: JsonObject = schema === null ? facts : { ...facts, schemaKeys: Object.keys(schema).sort() };
  return { data, validationStatus: DETERMINISTIC };
}

function review({ subject, references }: ReviewPayload): JsonObject {
  const id = `finding-${sha256(subject).slice(ALGORITHM, HASH_HEAD)}`;
  const finding: Json = {
    id,
    severity: 'info',
    category: DETERMINISTIC,
    message: `The subject has ${subject.length} characters. No model has read it.`,
    location: { path: null, line: null, column: null, symbol: null },
    evidenceRefs: [],
    confidence: 0,
  };
  return {
    summary: 'One note of the deterministic provider, which judges nothing.',
    findings: [finding],
    validationStatus: DETERMINISTIC,
    references: [...references],
  };
}

const PATH_DEFAULT = 'proposal.md';

function scaffold({ prompt, allowedPaths, references }: ScaffoldPayload): JsonObject {
  const content = `# Proposal\n\n${sha256(prompt).slice(0, HASH_HEAD)}\n`;
  return {
    summary: 'One proposed file of the deterministic provider.',
    artifacts: [proposedFile(allowedPaths[0] ?? PATH_DEFAULT, content)],
    validationStatus: DETERMINISTIC,
    references: [...references],
  };
}

function toolPlan({ prompt, tools }: ToolPlanPayload): JsonObject {
  const words = prompt.toLowerCase();
  const named = tools.find(({ name }) => words.includes(name.toLowerCase()));
  const calls: Json[] =
    named === undefined
      ? []
      : [
          {
            tool: named.name,
            arguments: {},
            requiresApproval: true,
            rationale: 'The prompt names the tool.',
          },
        ];
  return { calls, validationStatus: DETERMINISTIC };
}

/** A text of at most this many UTF-16 units, without half a character at the end. */
export function cut(text: string, units: number): string {
  const head = text.slice(0, units);
  return head.isWellFormed() ? head : head.slice(0, -1);
}
