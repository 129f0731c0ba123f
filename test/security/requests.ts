import * as fc from 'fast-check';
import type { Json, Schema } from '../../contracts/generate/schema.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { formText } from '../support/forms.ts';
import { type Answers, type Vocabulary, valid } from './arbitrary.ts';
import { hostileTexts, numbers } from './scalars.ts';
import type { SchemaSet } from './schema-set.ts';
import { violations } from './violations.ts';

/** A request before it is written: every part by its name. */
export interface Draft {
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** `undefined` for none. */
  readonly body: Json | Uint8Array | undefined;
}

/** One thing done wrong to a request. */
export interface BrokenDraft {
  readonly label: string;
  readonly draft: Draft;
}

export interface Place {
  readonly set: SchemaSet;
  readonly entry: OperationEntry;
  readonly route: OperationRoute;
  /** Members on which the request and its path must agree, such as the tenant. */
  readonly fixed: Readonly<Record<string, string>>;
  readonly vocabulary: Vocabulary;
  /** Earlier answers of the tenant, for requests that must return one. */
  readonly answers: Answers;
}

/** A path as it is sent. Values are percent-encoded, as every client library does it. */
export function pathOf({ segments }: OperationRoute, params: Readonly<Record<string, string>>): string {
  const parts = segments.map((segment) =>
    'literal' in segment ? segment.literal : encode(params[segment.param] ?? ''),
  );
  return `/${parts.join('/')}`;
}

export function requestOf({ entry, route }: Pick<Place, 'entry' | 'route'>, draft: Draft): InjectedRequest {
  const query = draft.query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const { type, body } = bodyAs(entry, draft.body);
  return {
    method: route.method,
    path: `${pathOf(route, draft.params)}${query === '' ? '' : `?${query}`}`,
    headers: [
      ...draft.headers,
      ...(type === null || draft.body === undefined ? [] : [['Content-Type', type] as const]),
    ],
    body,
  };
}

/** A body as the operation takes it: JSON, a form of its members, or bytes. */
export function bodyAs(
  { requestMediaType, parts = [] }: Pick<OperationEntry, 'requestMediaType' | 'parts'>,
  body: Draft['body'],
): { readonly type: string | null; readonly body: string | Uint8Array | undefined } {
  if (body === undefined || body instanceof Uint8Array) return { type: requestMediaType, body };
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  if (requestMediaType !== 'multipart/form-data')
    return { type: requestMediaType, body: JSON.stringify(body) };
  const bytes = new Set(parts.filter(({ kind }) => kind === 'bytes').map(({ name }) => name));
  const { mediaType, text } = formText(isObject ? (body as Record<string, Json>) : {}, bytes);
  // A body without members cannot be a form, so it is sent as JSON under the media type of a form.
  return { type: mediaType, body: isObject ? text : JSON.stringify(body) };
}

/** Requests that break no rule of the contract. */
export function validDrafts(place: Place): fc.Arbitrary<Draft> {
  const { route, fixed, vocabulary } = place;
  const params = Object.fromEntries(
    route.path.map((spec) => {
      const value = fixed[spec.name];
      return [spec.name, value === undefined ? namesFor(spec, vocabulary) : fc.constant(value)];
    }),
  );
  return fc
    .record({
      params: fc.record(params),
      query: named(route.query, new Map()),
      headers: named(route.headers, vocabulary),
      body: bodies(place),
    })
    .map((draft) => agreeing(place.entry, { ...draft, body: aligned(draft.body, draft.params) }));
}

/** The draft without a header whose key differs from the body's: such a request is ambiguous. */
export function agreeing(entry: OperationEntry, draft: Draft): Draft {
  const { location } = entry.idempotency;
  if (location?.in !== 'header' || location.pointer === undefined) return draft;
  const member = location.pointer.slice(1);
  const { body } = draft;
  const names = keyNames(entry);
  const keys = draft.headers.filter(([name]) => names.includes(name.toLowerCase()));
  const [key] = keys.map(([, text]) => text);
  if (key === undefined || body instanceof Uint8Array || typeof body !== 'object' || body === null)
    return draft;
  // Several headers, or a key that only a quoted form could carry, are left to the tests of headers.
  if (keys.length === 1 && /^[\w.-]{1,160}$/.test(key)) {
    return { ...draft, body: { ...(body as Record<string, Json>), [member]: key } };
  }
  return withoutKeys(entry, draft);
}

/** The headers that may carry the idempotency key. */
function keyNames({ idempotency: { location } }: OperationEntry): readonly string[] {
  if (location?.in !== 'header') return [];
  return [location.name, ...(location.aliases ?? [])].map((name) => name.toLowerCase());
}

function withoutKeys(entry: OperationEntry, draft: Draft): Draft {
  const names = keyNames(entry);
  return { ...draft, headers: draft.headers.filter(([name]) => !names.includes(name.toLowerCase())) };
}

/** Every way to break one rule in a request that was valid. */
export function brokenDrafts({ set, entry, route }: Place, draft: Draft): BrokenDraft[] {
  const broken: BrokenDraft[] = [];
  for (const spec of route.path) {
    for (const [rule, text] of badTexts(spec)) {
      const params = { ...draft.params, [spec.name]: text };
      broken.push({ label: `path ${spec.name}: ${rule}`, draft: { ...draft, params } });
    }
  }
  for (const part of ['query', 'headers'] as const) {
    for (const spec of route[part]) {
      // A second name of a header is read only where the first is absent.
      const alone = part === 'headers' && keyNames(entry).includes(spec.name.toLowerCase());
      broken.push(...badParameter(alone ? withoutKeys(entry, draft) : draft, part, spec));
    }
  }
  broken.push({
    label: 'query: unknown',
    draft: { ...draft, query: [...draft.query, ['unknownParameter', '1']] },
  });
  if (entry.bodyLimitBytes === null || route.bodyFromParameters) {
    broken.push({ label: 'body: none is taken', draft: { ...draft, body: {} } });
  } else if (entry.requestSchema !== null && !(draft.body instanceof Uint8Array)) {
    for (const { label, value } of violations(set, entry.requestSchema, draft.body ?? {})) {
      broken.push({ label: `body: ${label}`, draft: { ...draft, body: value } });
    }
  }
  return broken;
}

/** The body with every member that the path also names agreeing with it, at any depth. */
export function aligned<B extends Draft['body']>(body: B, params: Readonly<Record<string, string>>): B {
  if (body instanceof Uint8Array || typeof body !== 'object' || body === null) return body;
  if (Array.isArray(body)) return body.map((item: Json) => aligned(item, params)) as unknown as B;
  const members = Object.entries(body as Readonly<Record<string, Json>>).map(([name, value]) => [
    name,
    typeof value === 'string' && Object.hasOwn(params, name) ? params[name] : aligned(value, params),
  ]);
  return Object.fromEntries(members) as B;
}

function bodies({ set, entry, route, vocabulary, answers }: Place): fc.Arbitrary<Draft['body']> {
  if (entry.bodyLimitBytes === null || route.bodyFromParameters) return fc.constant(undefined);
  if (entry.requestSchema === null) return fc.uint8Array({ maxLength: 256 });
  if (['application/json', 'multipart/form-data'].includes(entry.requestMediaType ?? '')) {
    const values = valid(set, entry.requestSchema, vocabulary, answers);
    const proof = proofIn(vocabulary, set.model(entry.requestSchema).properties ?? {});
    if (proof === null) return values;
    return fc
      .tuple(values, fc.boolean())
      .map(([value, whole]) => (whole ? { ...(value as Record<string, Json>), ...proof } : value));
  }
  throw new Error(`${entry.id} takes ${entry.requestMediaType}, for which there are no attacks yet`);
}

/** The proof of a worker: drawn apart, its parts would hardly ever be those of one lease. */
export function proofIn(
  vocabulary: Vocabulary,
  properties: Readonly<Record<string, Schema>>,
): Record<string, string> | null {
  const parts = ['leaseKey', 'leaseToken', 'workerId'];
  if (!parts.every((name) => Object.hasOwn(properties, name))) return null;
  const words = parts.flatMap((name) => vocabulary.get(name)?.[0] ?? []);
  return words.length < parts.length
    ? null
    : Object.fromEntries(parts.map((name, at) => [name, words[at] ?? '']));
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Names that a path can carry: one segment, visible characters, composed. */
function namesFor(spec: ParameterSpec, vocabulary: Vocabulary): fc.Arbitrary<string> {
  if (spec.type !== 'string' || spec.enum !== undefined) return textsOf(spec);
  const { minLength = 1, maxLength = 160 } = spec;
  const form = spec.pattern === undefined ? null : new RegExp(spec.pattern, 'u');
  const names = fc.oneof(
    fc.stringMatching(form ?? /^[A-Za-z0-9][A-Za-z0-9._~:@!$&'()*+,;=-]{0,15}$/),
    fc.constantFrom('\u00e9', '\u{1f600}', '__proto__', 'con', 'a'.repeat(maxLength), 'read', 'query'),
  );
  const fits = (name: string): boolean =>
    name.length >= minLength && name.length <= maxLength && (form?.test(name) ?? true);
  const fitting = names.filter(fits);
  const words = (vocabulary.get(spec.name) ?? []).filter(fits);
  return words.length === 0
    ? fitting
    : fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...words) }, fitting);
}

/** Some of the parameters that may be given, and all that must be. */
function named(
  specs: readonly ParameterSpec[],
  vocabulary: Vocabulary,
): fc.Arbitrary<(readonly [string, string])[]> {
  const each = specs.map((spec) => {
    const words = vocabulary.get(spec.name) ?? [];
    const texts = words.length === 0 ? textsOf(spec) : fc.oneof(fc.constantFrom(...words), textsOf(spec));
    const pair = texts.map((text) => [queryName(spec), text] as const);
    return spec.required ? pair : fc.option(pair, { nil: null });
  });
  return fc.tuple(...each).map((pairs) => pairs.filter((pair) => pair !== null));
}

/** The name in a request. Each prefix has a key of its own: two prefixes may be two forms of one member. */
function queryName({ name, prefix }: ParameterSpec): string {
  return prefix === true ? `${name}${name.replaceAll(/\W/g, '')}` : name;
}

/** Values of a parameter as text. */
function textsOf(spec: ParameterSpec): fc.Arbitrary<string> {
  const { minimum, maximum } = spec;
  const schema: Schema = {
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
  if (spec.enum !== undefined) return fc.constantFrom(...spec.enum);
  if (spec.type === 'boolean') return fc.constantFrom('true', 'false');
  if (spec.type === 'integer') return numbers('integer', schema).map((number) => JSON.stringify(number));
  // Numbers of parameters are written without an exponent.
  if (spec.type === 'number')
    return numbers('integer', schema).map((number) => `${JSON.stringify(number)}.0`);
  if (spec.format === 'date-time')
    return fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:05+23:59');
  if (spec.pattern !== undefined) return fc.stringMatching(new RegExp(spec.pattern, 'u'));
  const { minLength = 1, maxLength = 12 } = spec;
  return fc.string({
    unit: 'grapheme-ascii',
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, 40)),
  });
}

function badParameter(draft: Draft, part: 'query' | 'headers', spec: ParameterSpec): BrokenDraft[] {
  const name = queryName(spec);
  const others = draft[part].filter(([each]) => each !== name);
  const broken: BrokenDraft[] = [];
  const add = (rule: string, ...given: Draft['query']) =>
    broken.push({
      label: `${part} ${name}: ${rule}`,
      draft: { ...draft, [part]: [...others, ...given] },
    });
  // A blank key is no key.
  const isKey = part === 'headers' && /idempotency-key$/i.test(name);
  for (const [rule, text] of badTexts(spec)) {
    // White space at the ends of a field is none of its value (RFC 9110, 5.5).
    const isSame = part === 'headers' && rule === 'pattern' && hasForm(spec, text.trim());
    if (!isSame && (!isKey || text.trim() !== '')) add(rule, [name, text]);
  }
  if (spec.required) add('required');
  const good =
    spec.type === 'boolean' ? 'true' : String(spec.minimum ?? spec.enum?.[0] ?? spec.default ?? 'a');
  if (part === 'query') add('repeated', [name, good], [name, good]);
  return broken;
}

function hasForm({ pattern }: ParameterSpec, text: string): boolean {
  return pattern === undefined || new RegExp(pattern, 'u').test(text);
}

/** Texts that the parameter must refuse, each with the rule that it breaks. */
function badTexts(spec: ParameterSpec): (readonly [rule: string, text: string])[] {
  const { type, minimum, maximum, minLength = 0, maxLength } = spec;
  const bad: (readonly [string, string])[] = [];
  const add = (rule: string, ...texts: readonly string[]) =>
    bad.push(...texts.map((text) => [rule, text] as const));
  if (type === 'boolean') add('type', '', 'TRUE', '1', 'yes', 'null', 'true ');
  if (type === 'integer')
    add('type', '', 'x', '1.5', '01', '+1', ' 1', '1e3', '0x1', 'NaN', '9007199254740993', '١');
  if (type === 'number') add('type', '', 'x', '1e400', '+1', '.5', 'Infinity', '1,5');
  if (minimum !== undefined) add('minimum', String(minimum - 1));
  if (maximum !== undefined) add('maximum', String(maximum + 1));
  if (type !== 'string') return bad;
  if (spec.anyText !== true) add('control characters', 'a\u0000b', 'a\r\nb', 'a\u0085b');
  if (minLength > 0) add('minLength', 'a'.repeat(minLength - 1));
  if (maxLength !== undefined) add('maxLength', 'a'.repeat(maxLength + 1), 'a'.repeat(maxLength * 20));
  if (spec.enum !== undefined)
    add('enum', ...spec.enum.flatMap((value) => [`${value}x`, value.toUpperCase()]));
  if (spec.pattern !== undefined) {
    add('pattern', ...hostileTexts.filter((text) => !hasForm(spec, text)));
  }
  return spec.enum === undefined ? bad : bad.filter(([, text]) => !spec.enum?.includes(text));
}
