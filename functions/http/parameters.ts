import { isDateTime } from '../../contracts/date-time.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';

export type ParameterValue = string | number | boolean;

type Values = Readonly<Record<string, ParameterValue>>;

/** The text of a query; or the values that a caller inside the process gives, each of its declared type or absent. */
export type SentQuery = string | Readonly<Record<string, ParameterValue | null | undefined>>;

/** The parameters of a call as they were sent; those of the path are decoded, and the path policy has accepted them. */
export interface SentParameters {
  readonly path: Readonly<Record<string, string>>;
  readonly query: SentQuery;
  readonly header?: ((name: string) => string | undefined) | undefined;
}

/** One broken rule of one parameter. Without `spec` the operation does not have the parameter. */
export interface ParameterFault {
  readonly name: string;
  /** As JSON Schema calls it; `repeated` and `control` are rules of parameters alone. */
  readonly keyword: string;
  readonly spec?: ParameterSpec;
}

/** The most faults that a refusal names. */
const PARAMETER_FAULTS_MAX = 20;

/** Parameters that break their rules. Only the refusal needs the words for it, so they are not made here. */
export class RefusedParameters extends Error {
  readonly faults: readonly ParameterFault[];
  readonly query: readonly ParameterSpec[];

  constructor(faults: readonly ParameterFault[], query: readonly ParameterSpec[]) {
    super();
    this.faults = faults;
    this.query = query;
  }
}

/**
 * Reads the query by the declared types, and checks path and headers against the contract, beyond the path policy.
 * Refuses unknown and repeated query parameters; guesses nothing. Throws `RefusedParameters` with all faults.
 */
export function readParameters(
  { path, query, headers }: OperationRoute,
  { idempotency: { location } }: OperationEntry,
  sent: SentParameters,
): Values {
  const faults: ParameterFault[] = [];
  const check = (spec: ParameterSpec, name: string, text: string): void => {
    const keyword = brokenRule(spec, text);
    if (keyword !== undefined) faults.push({ name, keyword, spec });
  };
  for (const spec of path) check(spec, spec.name, sent.path[spec.name] ?? '');
  // The key has rules of its own.
  const keys = location?.in === 'header' ? [location.name, ...(location.aliases ?? [])] : [];
  for (const spec of headers) {
    // The operation itself judges names and values of fields with a common start.
    if (spec.prefix === true || keys.includes(spec.name)) continue;
    const value = sent.header?.(spec.name.toLowerCase());
    if (value !== undefined) check(spec, spec.name, value);
  }
  const values = readQuery(query, sent.query, faults);
  if (faults.length > 0) throw new RefusedParameters(faults.slice(0, PARAMETER_FAULTS_MAX), query);
  return values;
}

function readQuery(specs: readonly ParameterSpec[], sent: SentQuery, faults: ParameterFault[]): Values {
  const values = Object.create(null) as Record<string, ParameterValue>;
  for (const [name, value] of typeof sent === 'string' ? pairsOf(sent) : Object.entries(sent)) {
    if (value === undefined || value === null) continue;
    const spec = specs.find((each) =>
      each.prefix === true
        ? name.startsWith(each.name) && name.length > each.name.length
        : each.name === name,
    );
    const keyword =
      spec === undefined
        ? 'additionalProperties'
        : name in values
          ? 'repeated'
          : typeof sent === 'string' || typeof value === (spec.type === 'integer' ? 'number' : spec.type)
            ? brokenRule(spec, String(value))
            : 'type';
    if (keyword !== undefined) faults.push({ name, keyword, ...(spec && { spec }) });
    if (spec !== undefined) values[name] = valueOf(spec, String(value));
  }
  for (const spec of specs) {
    if (spec.name in values || spec.prefix === true) continue;
    if (spec.default !== undefined) values[spec.name] = spec.default;
    else if (spec.required) faults.push({ name: spec.name, keyword: 'required', spec });
  }
  return { ...values };
}

/** Names and values of a query, decoded. */
function pairsOf(query: string): [name: string, text: string][] {
  return query
    .split('&')
    .filter(Boolean)
    .map((part) => {
      const equals = part.indexOf('=');
      return equals < 0
        ? [decode(part), '']
        : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))];
    });
}

/** Names and values are form-encoded: SDKs write a space as a plus sign. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ServiceError('malformed_request', 'The query is not percent-encoded UTF-8.');
  }
}

function valueOf({ type }: ParameterSpec, text: string): ParameterValue {
  if (type === 'string') return text;
  return type === 'boolean' ? text === 'true' : Number(text);
}

function brokenRule(spec: ParameterSpec, text: string): string | undefined {
  const { type, minimum = -Infinity, maximum = Infinity } = spec;
  if (type === 'string') return brokenText(spec, text);
  if (type === 'boolean') return text === 'true' || text === 'false' ? undefined : 'type';
  const form =
    type === 'integer' ? /^-?(?:0|[1-9][0-9]{0,15})$/ : /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;
  const value = Number(text);
  if (!form.test(text) || (type === 'integer' && !Number.isSafeInteger(value))) return 'type';
  if (value < minimum) return 'minimum';
  return value > maximum ? 'maximum' : undefined;
}

function brokenText(spec: ParameterSpec, text: string): string | undefined {
  const { minLength = 0, maxLength = Infinity } = spec;
  if (spec.anyText !== true && /\p{Cc}/u.test(text)) return 'control';
  if (spec.enum && !spec.enum.includes(text)) return 'enum';
  if (text.length < minLength) return 'minLength';
  if (text.length > maxLength) return 'maxLength';
  if (spec.format === 'date-time' && !isDateTime(text)) return 'format';
  // The patterns are those of the contract, which a test of it proves to be linear.
  return spec.pattern !== undefined && !new RegExp(spec.pattern, 'u').test(text) ? 'pattern' : undefined;
}
