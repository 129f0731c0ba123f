import { isDateTime } from '../../contracts/date-time.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import { type ProblemDetail, ServiceError } from '../kernel/errors.ts';

export type ParameterValue = string | number | boolean;

type Values = Record<string, ParameterValue>;

/** Reads query parameters by their declared types. Refuses unknown and repeated parameters; guesses nothing. */
export function readQuery(specs: readonly ParameterSpec[], query: string): Values {
  const values = noValues();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const text = decode(equals < 0 ? '' : part.slice(equals + 1));
    const spec = specFor(specs, name);
    if (name in values) throw invalid(name, 'repeated', 'the query parameter occurs twice');
    values[name] = readValue(spec, name, text);
  }
  return complete(specs, values);
}

/** The same for values that a caller inside the process gives: a value has its declared type, or is absent. */
export function checkQuery(
  specs: readonly ParameterSpec[],
  given: Readonly<Record<string, ParameterValue | null | undefined>>,
): Values {
  const values = noValues();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const spec = specFor(specs, name);
    const type = spec.type === 'integer' ? 'number' : spec.type;
    if (typeof value !== type) throw invalid(name, 'type', `must be of the type ${spec.type}`);
    values[name] = readValue(spec, name, String(value));
  }
  return complete(specs, values);
}

function noValues(): Values {
  return Object.create(null) as Values;
}

function complete(specs: readonly ParameterSpec[], values: Values): Values {
  for (const spec of specs) {
    if (spec.name in values || spec.prefix === true) continue;
    if (spec.default !== undefined) values[spec.name] = spec.default;
    else if (spec.required) throw invalid(spec.name, 'required', 'the query parameter is missing');
  }
  return { ...values };
}

/** Checks a path parameter against what the contract says beyond the path policy. */
export function checkPathParameters(
  specs: readonly ParameterSpec[],
  params: Readonly<Record<string, string>>,
): void {
  for (const spec of specs) readValue(spec, spec.name, params[spec.name] ?? '');
}

/** Checks the headers that the caller sent, save those of the idempotency key, which has rules of its own. */
export function checkHeaders(
  { headers }: Pick<OperationRoute, 'headers'>,
  { idempotency: { location } }: Pick<OperationEntry, 'idempotency'>,
  valueOf: (name: string) => string | undefined,
): void {
  const keys = location?.in === 'header' ? [location.name, ...(location.aliases ?? [])] : [];
  for (const spec of headers) {
    // Of fields with a common start, the operation itself judges names and values.
    if (spec.prefix === true) continue;
    const value = keys.includes(spec.name) ? undefined : valueOf(spec.name.toLowerCase());
    if (value !== undefined) readValue(spec, spec.name, value);
  }
}

function specFor(specs: readonly ParameterSpec[], name: string): ParameterSpec {
  const found = specs.find((spec) =>
    spec.prefix === true ? name.startsWith(spec.name) && name.length > spec.name.length : spec.name === name,
  );
  // The name is the caller's text, so the refusal does not repeat it.
  if (!found)
    throw new ServiceError(
      'validation_failed',
      'The query holds a parameter that the operation does not have.',
    );
  return found;
}

function readValue(spec: ParameterSpec, name: string, text: string): ParameterValue {
  if (spec.type === 'boolean') {
    if (text !== 'true' && text !== 'false') throw invalid(name, 'type', 'must be true or false');
    return text === 'true';
  }
  if (spec.type === 'string') return readText(spec, name, text);
  const form =
    spec.type === 'integer' ? /^-?(?:0|[1-9][0-9]{0,15})$/ : /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;
  const value = Number(text);
  if (!form.test(text) || (spec.type === 'integer' && !Number.isSafeInteger(value))) {
    throw invalid(name, 'type', `must be of the type ${spec.type}`);
  }
  if (spec.minimum !== undefined && value < spec.minimum)
    throw invalid(name, 'minimum', `must be >= ${spec.minimum}`);
  if (spec.maximum !== undefined && value > spec.maximum) {
    throw invalid(name, 'maximum', `must be <= ${spec.maximum}`, 'limit_exceeded');
  }
  return value;
}

function readText(spec: ParameterSpec, name: string, text: string): string {
  if (spec.anyText !== true && /\p{Cc}/u.test(text))
    throw invalid(name, 'pattern', 'must not hold control characters');
  if (spec.enum && !spec.enum.includes(text))
    throw invalid(name, 'enum', 'must be one of the allowed values');
  if (spec.minLength !== undefined && text.length < spec.minLength) {
    throw invalid(name, 'minLength', `must have at least ${spec.minLength} characters`);
  }
  if (spec.maxLength !== undefined && text.length > spec.maxLength) {
    throw invalid(name, 'maxLength', `must have at most ${spec.maxLength} characters`, 'limit_exceeded');
  }
  if (spec.format === 'date-time' && !isDateTime(text)) {
    throw invalid(name, 'format', 'must be a moment with its offset, as RFC 3339 writes it');
  }
  // The patterns are those of the contract, which a test of it proves to be linear.
  if (spec.pattern !== undefined && !new RegExp(spec.pattern, 'u').test(text)) {
    throw invalid(name, 'pattern', 'must have the form that the contract says');
  }
  return text;
}

/** Names and values are form-encoded: SDKs write a space as a plus sign. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ServiceError('malformed_request', 'The query is not percent-encoded UTF-8.');
  }
}

function invalid(
  name: string,
  keyword: string,
  detail: string,
  code: 'validation_failed' | 'limit_exceeded' = 'validation_failed',
): ServiceError {
  const fault: ProblemDetail = { pointer: `/${name.slice(0, 160)}`, keyword, detail };
  return new ServiceError(code, `The request is not valid: ${name.slice(0, 160)}: ${detail}.`, {
    errors: [fault],
  });
}
