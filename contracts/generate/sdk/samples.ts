import type { Json } from '../schema.ts';
import type { SdkContract } from './ir.ts';
import { JSON_LITERALS, literal, PYTHON_LITERALS, TYPESCRIPT_LITERALS } from './literal.ts';
import { type WireCase, wireRequests } from './wire.ts';

/** A program for one operation, in the form of the OpenAPI extension `x-codeSamples`. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The server of `npm start`. */
export const SAMPLE_SERVER = 'http://127.0.0.1:5220';

/** Stands for the bytes of a request. */
const SAMPLE_FILE = 'content.bin';

/** The samples of each operation by its id, made of the case with which the clients are tested. */
export function codeSamples(contract: SdkContract): Readonly<Record<string, readonly CodeSample[]>> {
  const cases = wireRequests(contract).cases.filter((each) => each.case === 'example');
  const paged = new Set(contract.operations.filter(({ paging }) => paging !== null).map(({ id }) => id));
  return Object.fromEntries(
    cases.map((each) => [
      each.operation,
      [
        { lang: 'shell', label: 'curl', source: curl(each) },
        { lang: 'typescript', label: 'TypeScript', source: typescript(each, paged.has(each.operation)) },
        { lang: 'python', label: 'Python', source: python(each, paged.has(each.operation)) },
      ],
    ]),
  );
}

function curl({ expect: { method, target, headers, body }, arguments: { request } }: WireCase): string {
  const form = body !== null && 'parts' in body;
  const fields = Object.entries(headers)
    .filter(([name]) => !(form && name === 'content-type'))
    .map(([name, value]) => `--header ${shellWord(`${name}: ${value}`)}`);
  const options = method === 'GET' ? [] : [`--request ${method}`];
  return [`curl ${shellWord(SAMPLE_SERVER + target)}`, ...options, ...fields, ...dataOf(body, request)].join(
    ' \\\n  ',
  );
}

function dataOf(body: WireCase['expect']['body'], request: Json): readonly string[] {
  if (body === null) return [];
  if ('json' in body) return [`--data ${shellWord(literal(request, JSON_LITERALS))}`];
  if ('base64' in body) return [`--data-binary ${shellWord(`@${SAMPLE_FILE}`)}`];
  return body.parts.map(({ name, filename, contentType, body: part }) => {
    const value = 'json' in part ? part.json : `@${SAMPLE_FILE};filename=${filename ?? name}`;
    return `--form ${shellWord(`${name}=${value};type=${contentType}`)}`;
  });
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function typescript({ typescript: name, arguments: given }: WireCase, paged: boolean): string {
  const { path, request, parameters, idempotencyKey } = given;
  const written = literal(marked(request), TYPESCRIPT_LITERALS);
  const file = hasFile(request);
  const values = parameters ?? [];
  const named = values.map(({ words, value }) => [camel(words), value] as const);
  const call = [
    ...path.map((value) => literal(value, TYPESCRIPT_LITERALS)),
    ...(request === null ? [] : [written.replaceAll(`'${FILE}'`, `await openAsBlob('${SAMPLE_FILE}')`)]),
    ...(values.length > 0 || (parameters !== null && idempotencyKey !== null)
      ? [literal(Object.fromEntries(named), TYPESCRIPT_LITERALS)]
      : []),
    ...(idempotencyKey === null ? [] : [literal({ idempotencyKey }, TYPESCRIPT_LITERALS)]),
  ];
  const made = `client.${name}(${call.join(', ')})`;
  return `${file ? "import { openAsBlob } from 'node:fs';\n" : ''}import { SvcClient } from '@svc-runtime/client';

const client = new SvcClient({ baseUrl: '${SAMPLE_SERVER}' });
${paged ? `for await (const item of ${made}) console.log(item);` : `const result = await ${made};\nconsole.log(result);`}`;
}

function python({ python: name, arguments: given }: WireCase, paged: boolean): string {
  const { path, request, parameters, idempotencyKey } = given;
  const bytes = `Path("${SAMPLE_FILE}").read_bytes()`;
  const written = literal(marked(request), PYTHON_LITERALS, '    ')
    .replaceAll(`{"content": "${FILE}"}`, `FilePart(${bytes})`)
    .replaceAll(`"${FILE}"`, bytes);
  const named = (parameters ?? []).map(
    ({ words, value }) => `${words.join('_')}=${literal(value, PYTHON_LITERALS, '    ')}`,
  );
  const call = [
    ...path.map((value) => literal(value, PYTHON_LITERALS)),
    ...(request === null ? [] : [written]),
    ...named,
    ...(idempotencyKey === null ? [] : [`idempotency_key=${literal(idempotencyKey, PYTHON_LITERALS)}`]),
  ];
  const made = `client.${name}(${call.join(', ')})`;
  const use = paged ? `for item in ${made}:\n        print(item)` : `result = ${made}\n    print(result)`;
  const part = written.includes('FilePart(') ? ', FilePart' : '';
  return `${hasFile(request) ? 'from pathlib import Path\n\n' : ''}from svc_client import Client${part}

with Client("${SAMPLE_SERVER}") as client:
    ${use}`;
}

/** Stands in a literal for the expression that reads the file. */
const FILE = '<bytes>';

/** The request with a mark in place of bytes. */
function marked(request: Json): Json {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  if ('base64' in request) return FILE;
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [name, isFile(value) ? { content: FILE } : value]),
  );
}

function hasFile(request: Json): boolean {
  return isFile(request) || (isObject(request) && Object.values(request).some(isFile));
}

function isFile(value: unknown): boolean {
  return isObject(value) && typeof value['base64'] === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function camel([first = '', ...more]: readonly string[]): string {
  return first + more.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
