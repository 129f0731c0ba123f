import { limits } from '../../contracts/generated/limits.ts';
import type { IdempotencyLocation } from '../../contracts/operation.ts';
import { exitCodes, ToolError } from '../output.ts';
import type { RemoteRequest } from '../remote/exchange.ts';
import type { ApiOperation, ApiParameter } from './catalog.ts';

/** The input of a call besides its body. */
export interface CallGiven {
  /** Parameters, each as `name=value`. */
  readonly params: readonly string[];
  readonly idempotencyKey?: string | undefined;
}

type Head = Omit<RemoteRequest, 'body'>;

/** Builds method, path and headers of a call. Reports all unknown and missing parameters in one error. */
export function requestOf(operation: ApiOperation, given: CallGiven): Head {
  const { values, faults } = readParams(operation.parameters, given.params);
  faults.push(...keyFaults(operation.entry.idempotency.location, given.idempotencyKey));
  if (faults.length > 0) {
    const help = `svc api ${operation.id} --help shows its parameters`;
    throw new ToolError(`${faults.join('; ')} (${help}).`, exitCodes.usage);
  }
  const query = [...values].filter(([, { parameter }]) => parameter.in === 'query');
  const text = query
    .map(([name, { value }]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  const headers = [...values].flatMap(([name, { parameter, value }]): [string, string][] =>
    parameter.in === 'header' ? [[name, value]] : [],
  );
  const { location } = operation.entry.idempotency;
  if (given.idempotencyKey !== undefined) {
    // The service also reads a key of the body from this header.
    headers.push([location?.in === 'header' ? location.name : 'Idempotency-Key', given.idempotencyKey]);
  }
  return {
    method: operation.route.method,
    path: `${pathOf(operation, values)}${text === '' ? '' : `?${text}`}`,
    headers,
  };
}

interface Value {
  readonly parameter: ApiParameter;
  readonly value: string;
}

function readParams(
  parameters: readonly ApiParameter[],
  params: readonly string[],
): { values: Map<string, Value>; faults: string[] } {
  const values = new Map<string, Value>();
  const faults: string[] = [];
  for (const param of params) {
    const equals = param.indexOf('=');
    const name = equals < 0 ? param : param.slice(0, equals);
    const value = param.slice(equals + 1);
    const parameter = parameters.find((each) => isNamed(each, name));
    if (equals < 0) faults.push(`--param ${name} lacks a value: --param name=value`);
    else if (parameter === undefined) faults.push(unknownText(parameters, name));
    else if (values.has(name)) faults.push(`the parameter ${name} is given twice`);
    else {
      faults.push(...valueFaults(parameter, name, value));
      values.set(name, { parameter, value });
    }
  }
  for (const { spec } of parameters) {
    if (spec.required && spec.prefix !== true && !values.has(spec.name) && !params.includes(spec.name)) {
      faults.push(`the parameter ${spec.name} is missing: --param ${spec.name}=…`);
    }
  }
  return { values, faults };
}

function isNamed({ spec, in: place }: ApiParameter, name: string): boolean {
  if (spec.prefix === true) return name.startsWith(spec.name) && name.length > spec.name.length;
  return place === 'header' ? spec.name.toLowerCase() === name.toLowerCase() : spec.name === name;
}

function unknownText(parameters: readonly ApiParameter[], name: string): string {
  const known = parameters.map(({ spec }) => (spec.prefix === true ? `${spec.name}…` : spec.name));
  return `there is no parameter ${name}: ${known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`}`;
}

/** Checks only what would turn this into another request; the service judges the rest. */
function valueFaults({ in: place }: ApiParameter, name: string, value: string): string[] {
  if (!value.isWellFormed()) return [`the parameter ${name} is no text`];
  // Clients and proxies may normalize these segments away, and the rest would be the path of another resource.
  if (place === 'path' && ['', '.', '..'].includes(value)) {
    return [`the parameter ${name} cannot be ${value === '' ? 'empty' : value}`];
  }
  if (place === 'header' && !/^[\x20-\x7e]*$/.test(value))
    return [`the parameter ${name} is not printable ASCII`];
  return [];
}

function keyFaults(location: IdempotencyLocation | null, key: string | undefined): string[] {
  if (key === undefined) return [];
  if (location === null) return ['the operation takes no idempotency key'];
  return key.length <= limits.identifierLengthMax && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
    ? []
    : [`the idempotency key is not 1 to ${limits.identifierLengthMax} visible ASCII characters`];
}

function pathOf({ route }: ApiOperation, values: ReadonlyMap<string, Value>): string {
  const segments = route.segments.map((segment) =>
    'literal' in segment ? segment.literal : encodeURIComponent(values.get(segment.param)?.value ?? ''),
  );
  return `/${segments.join('/')}`;
}
