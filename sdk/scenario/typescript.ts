/**
 * Runs a scenario through the public methods of the TypeScript SDK, and prints the result of each step as one line of JSON.
 *
 *     node sdk/scenario/typescript.ts <scenario> <address> <tenant>
 */
import { readFileSync } from 'node:fs';
import { APIStatusError, SvcClient } from '../typescript/src/index.ts';

interface Step {
  readonly step: string;
  readonly method: { readonly typescript: string };
  readonly arguments?: readonly unknown[];
  /** The query parameters, by their wire names. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly correlationId?: string;
  readonly idempotencyKey?: string;
  /** The way to read a list; by default the first page. */
  readonly read?: 'all' | 'pages';
  /** Values for later steps: name to position in the result. */
  readonly keep?: Readonly<Record<string, string>>;
}

type Answer = Promise<unknown> & {
  all(): Promise<unknown[]>;
  pages(): AsyncIterable<unknown>;
};

const [path = '', baseUrl = '', tenant = ''] = process.argv.slice(2);
const { steps } = JSON.parse(readFileSync(path, 'utf8')) as { readonly steps: readonly Step[] };
const client = new SvcClient({ baseUrl, apiKey: null, token: null });
const methods = client as unknown as Readonly<Record<string, (...all: unknown[]) => Answer>>;
const kept = new Map<string, unknown>([['tenant', tenant]]);

const transcript: object[] = [];
for (const each of steps) transcript.push({ step: each.step, ...(await made(each)) });
process.stdout.write(`${JSON.stringify(transcript)}\n`);

async function made(each: Step): Promise<object> {
  try {
    const result = await called(each);
    for (const [name, place] of Object.entries(each.keep ?? {})) kept.set(name, at(result, place));
    return { result };
  } catch (error) {
    if (!(error instanceof APIStatusError)) throw error;
    const { name, status, code, retryable, retryAfter, correlationId, problem, errors } = error;
    return { error: { class: name, status, code, retryable, retryAfter, correlationId, problem, errors } };
  }
}

async function called(each: Step): Promise<unknown> {
  const { method, arguments: given = [], parameters, correlationId, idempotencyKey, read } = each;
  const call = methods[method.typescript];
  if (call === undefined) throw new Error(`there is no method ${method.typescript}`);
  const named = { ...(correlationId && { correlationId }), ...(idempotencyKey && { idempotencyKey }) };
  const options = Object.keys(named).length === 0 ? [] : [named];
  // Options stand behind the parameters of an operation that has some.
  const none = idempotencyKey === undefined ? [] : [{}];
  const query = parameters === undefined ? none : [filled(parameters)];
  const answer = call.apply(client, [...given.map(filled), ...query, ...options]);
  if (read === 'all') return answer.all();
  if (read === undefined) return shown(await answer);
  const pages: unknown[] = [];
  for await (const page of answer.pages()) pages.push(page);
  return pages;
}

/** Bytes as `{ "base64": … }`, which both languages write alike. */
async function shown(result: unknown): Promise<unknown> {
  if (!(result instanceof ReadableStream)) return result;
  const bytes = await new Response(result).arrayBuffer();
  return { base64: Buffer.from(bytes).toString('base64') };
}

/** `{ "kept": "name" }` refers to a value of an earlier step, `{ "base64": … }` to bytes, `{ "filePart": … }` to a part of a form. */
function filled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(filled);
  if (typeof value !== 'object' || value === null) return value;
  if ('kept' in value) {
    if (!kept.has(String(value.kept))) throw new Error(`nothing is kept as ${String(value.kept)}`);
    return kept.get(String(value.kept));
  }
  if ('filePart' in value) {
    const { base64, ...named } = value.filePart as { readonly base64: string };
    return { content: Buffer.from(base64, 'base64'), ...named };
  }
  if ('base64' in value) return Buffer.from(String(value.base64), 'base64');
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member)]));
}

/** The value at `/a/0/b`; the whole for an empty position. */
function at(value: unknown, place: string): unknown {
  return place
    .split('/')
    .slice(1)
    .reduce((inner, name) => (inner as Readonly<Record<string, unknown>>)[name], value);
}
