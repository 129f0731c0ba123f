import { textNamed } from '../examples.ts';
import type { Json } from '../schema.ts';
import { completed, MOMENT, type Models } from './complete.ts';
import type { SdkContract, SdkOperation, SdkParameter, SdkRequest } from './ir.ts';

/**
 * One method call and the exact request that it must make: the SDKs of all languages are tested against it. Built
 * from the contract alone, so that an SDK and its oracle share no code.
 */
export interface WireCase {
  readonly operation: string;
  /**
   * `example`: the required inputs, from the models' examples. `everything`: all inputs and every member of every
   * model, with unusual characters.
   */
  readonly case: 'example' | 'everything';
  readonly typescript: string;
  readonly python: string;
  readonly arguments: {
    readonly path: readonly (string | number | boolean)[];
    /**
     * JSON; for a form an object of its parts, in which a file is `{ base64, filename, contentType }`; for bytes `{
     * base64 }`.
     */
    readonly request: Json;
    /** The query and header parameters by their words; null if the operation has none. */
    readonly parameters: readonly { readonly words: readonly string[]; readonly value: Json }[] | null;
    /** Passed as an option of the call. */
    readonly idempotencyKey: string | null;
  };
  readonly expect: {
    readonly method: string;
    /** Path and query as sent. */
    readonly target: string;
    /** The headers that the call decides, by lower-case name. A form's boundary is left out. */
    readonly headers: Readonly<Record<string, string>>;
    readonly body: WireBody | null;
  };
}

/** @testonly */
export type WireBody =
  /** Compared as canonical JSON (RFC 8785). */
  { readonly json: string } | { readonly base64: string } | { readonly parts: readonly WirePart[] };

/** @testonly */
export interface WirePart {
  readonly name: string;
  readonly filename: string | null;
  readonly contentType: string;
  readonly body: { readonly json: string } | { readonly base64: string };
}

export function wireRequests({ operations, models, version }: SdkContract) {
  const byName = new Map(models.map((model) => [model.name, model]));
  const cases = operations.flatMap((operation) => {
    const example = wireCase(operation, 'example', byName);
    const everything = wireCase(operation, 'everything', byName);
    const differ = JSON.stringify(example.arguments) !== JSON.stringify(everything.arguments);
    return differ ? [example, everything] : [example];
  });
  return { generated: 'by npm run generate. Do not edit.', version, cases };
}

function wireCase(operation: SdkOperation, kind: WireCase['case'], models: Models): WireCase {
  const { id, names, method, pathTemplate, idempotency, request } = operation;
  const everything = kind === 'everything';
  const example = exampleOf(request, everything, models);
  const path = operation.path.map((parameter) => pathValue(parameter, everything, example));
  const route = Object.fromEntries(operation.path.map(({ name }, at) => [name, path[at] ?? null]));
  const body = request === null ? null : requestOf(request, everything, example, route);
  const taken = (all: readonly SdkParameter[]) =>
    all
      .filter(({ required }) => required || everything)
      .map((each) => [each, valueOf(each, everything)] as const);
  const [query, headers] = [taken(operation.query), taken(operation.headers)];
  const values = [...query, ...headers].map(([parameter, value]) => ({
    words: parameter.words,
    value: parameter.prefix ? entriesOf(parameter, value) : value,
  }));
  const keyHeader = idempotency.place?.in === 'header' ? idempotency.place.name : null;
  const key =
    keyHeader !== null && (everything || idempotency.requirement === 'required')
      ? (textNamed(body?.given ?? null, idempotency.place?.member ?? '') ?? `key of ${id}`)
      : null;
  const pairs = query.flatMap(([parameter, value]) => queryPairs(parameter, value));
  return {
    operation: id,
    case: kind,
    ...names,
    arguments: {
      path,
      request: body?.given ?? null,
      parameters: operation.query.length + operation.headers.length === 0 ? null : values,
      idempotencyKey: key,
    },
    expect: {
      method,
      target: `${filled(pathTemplate, path)}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
      headers: Object.fromEntries([
        ...(request === null ? [] : [['content-type', request.mediaType]]),
        ...headers.flatMap(([parameter, value]) => headerFields(parameter, value)),
        ...(key === null || keyHeader === null ? [] : [[keyHeader.toLowerCase(), key]]),
      ]),
      body: body?.sent ?? null,
    },
  };
}

/** The first text that the schema accepts is the value: characters that need encoding, or plain ones. */
const TEXTS = { everything: "ä b:'(1)*!~&=+", plain: 'sample-1' } as const;

/** The value of a parameter whose value no example gives. */
export const PLACEHOLDER: string = TEXTS.plain;

type Scalar = string | number | boolean;

function valueOf({ type, example }: SdkParameter, everything: boolean): Scalar {
  if (example !== null) return example;
  if (type.kind === 'literal') return type.values.findLast((value) => typeof value === 'string') ?? '';
  if (type.kind === 'integer') return 2;
  if (type.kind === 'number') return 2.5;
  if (type.kind === 'boolean') return true;
  if (type.kind === 'string' && type.format === 'date-time') return MOMENT;
  return everything ? TEXTS.everything : TEXTS.plain;
}

/** The model's example, for `everything` with every member; without members that repeat the route. */
function exampleOf(request: SdkRequest | null, everything: boolean, models: Models): Json {
  if (request === null || request.kind === 'bytes') return null;
  const example = models.get(request.model)?.example ?? {};
  if (!everything) return example;
  const whole = completed(request.model, example, models);
  if (request.kind === 'multipart' || Array.isArray(whole)) return whole;
  const repeated = new Set(request.repeatsRoute);
  return Object.fromEntries(Object.entries(whole ?? {}).filter(([name]) => !repeated.has(name)));
}

/** The request's value of the same name, so that both agree; the same holds for a key in two places. */
function pathValue(parameter: SdkParameter, everything: boolean, request: Json): Scalar {
  return textNamed(request, parameter.name) ?? valueOf(parameter, everything);
}

function requestOf(
  request: SdkRequest,
  everything: boolean,
  example: Json,
  route: Readonly<Record<string, Json>>,
): { readonly given: Json; readonly sent: WireBody } {
  const base64 = Buffer.from([0, 255, 13, 10, 45, 45]).toString('base64');
  if (request.kind === 'bytes') return { given: { base64 }, sent: { base64 } };
  if (request.kind === 'json') {
    const repeated = everything
      ? request.repeatsRoute.map((name) => [name, route[name] ?? null] as const)
      : [];
    const given: Json =
      typeof example !== 'object' || example === null || Array.isArray(example)
        ? example
        : Object.fromEntries([...Object.entries(example), ...repeated]);
    return { given, sent: { json: canonical(given) } };
  }
  const values = example as Readonly<Record<string, Json>>;
  const file = everything
    ? { base64, filename: 'a "b".bin', contentType: 'application/x-sample' }
    : { base64 };
  const parts = request.parts.filter(({ required }) => required || everything);
  const part = (name: string, binary: boolean): WirePart =>
    binary
      ? { name, filename: name, contentType: 'application/octet-stream', ...file, body: { base64 } }
      : {
          name,
          filename: null,
          contentType: 'application/json',
          body: { json: canonical(values[name] ?? null) },
        };
  return {
    given: Object.fromEntries(
      parts.map(({ name, type }) => [name, type.kind === 'bytes' ? file : (values[name] ?? null)]),
    ),
    sent: { parts: parts.map(({ name, type }) => withoutBase64(part(name, type.kind === 'bytes'))) },
  };
}

function withoutBase64({ name, filename, contentType, body }: WirePart): WirePart {
  return { name, filename, contentType, body };
}

/** For a prefix: two parameters. The name of a field holds no white space. */
function entriesOf({ name }: SdkParameter, value: Scalar): Readonly<Record<string, Scalar>> {
  return { [name.endsWith('-') ? 'a_b' : 'a b']: value, c: value };
}

function headerFields(parameter: SdkParameter, value: Scalar): readonly (readonly [string, string])[] {
  const field = parameter.name.toLowerCase();
  if (!parameter.prefix) return [[field, String(value)]];
  return Object.entries(entriesOf(parameter, value)).map(([key, each]) => [`${field}${key}`, String(each)]);
}

function queryPairs(parameter: SdkParameter, value: Scalar): readonly string[] {
  const { name, prefix } = parameter;
  if (!prefix) return [`${encoded(name)}=${encoded(String(value))}`];
  return Object.entries(entriesOf(parameter, value)).map(
    ([key, entry]) => `${encoded(`${name}${key}`)}=${encoded(String(entry))}`,
  );
}

function filled(template: string, values: readonly Scalar[]): string {
  const segments = template.split('/');
  let at = 0;
  return segments
    .map((segment) => (segment.startsWith('{') ? encoded(String(values[at++])) : segment))
    .join('/');
}

/** RFC 3986: unreserved characters unchanged, every other byte of UTF-8 as two upper-case digits. */
function encoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      if (/[A-Za-z0-9\-._~]/.test(character)) return character;
      return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** RFC 8785, for the values of examples. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
