import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { Catalog, CatalogOperation, ErrorCode, Limit, OpenApi } from './release-contract.ts';

/** The promises of a release: all that a later version is compared with, without descriptions and examples. */
export interface ReleasePins {
  readonly openapi: OpenApi;
  readonly catalog: Catalog;
  readonly errors: readonly ErrorCode[];
  readonly limits: readonly Limit[];
  readonly wire: unknown;
  /** The names of an SDK by its language; early releases had no SDK. */
  readonly surfaces: Readonly<Record<string, string>>;
}

export const PINS = 'pins.json.br';
export const LANGUAGES = ['typescript', 'python'] as const;

/** The pins of a release in its folder, which holds the fixtures or the pins made of them. */
export function readPins(folder: string): ReleasePins {
  const file = join(folder, PINS);
  if (existsSync(file)) return JSON.parse(unpacked(readFileSync(file))) as ReleasePins;
  return pinsOf((name) => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  });
}

/** The pins of the fixtures that `read` finds by name. */
export function pinsOf(read: (name: string) => string | null): ReleasePins {
  const json = <T>(name: string): T => JSON.parse(read(name) ?? 'null') as T;
  const surfaces = LANGUAGES.flatMap((language) => {
    const text = read(`sdk/${language}-surface.txt`);
    return text === null ? [] : [[language, text] as const];
  });
  return {
    openapi: compactOpenApi(json('openapi.json')),
    catalog: compactCatalog(json('catalog.json')),
    errors: json<{ errors: ErrorCode[] }>('errors.json').errors.map(({ code, status, retryable }) => ({
      code,
      status,
      retryable,
    })),
    limits: json<{ limits: Limit[] }>('limits.json').limits.map(({ name, value, unit }) => ({
      name,
      value,
      unit,
    })),
    wire: json('wire.json'),
    surfaces: Object.fromEntries(surfaces),
  };
}

export function pinsText(pins: ReleasePins): string {
  return JSON.stringify(pins);
}

export function packed(text: string): Buffer {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 22,
  };
  return brotliCompressSync(text, { params });
}

export function unpacked(bytes: Uint8Array): string {
  return brotliDecompressSync(bytes).toString('utf8');
}

function compactCatalog({ catalogVersion, authorizationClasses, operations }: Catalog): Catalog {
  const classes = Object.entries(authorizationClasses).map(([name, { security }]) => [name, { security }]);
  return {
    catalogVersion,
    authorizationClasses: Object.fromEntries(classes) as Catalog['authorizationClasses'],
    operations: operations.map(compactOperation),
  };
}

function compactOperation(operation: CatalogOperation): CatalogOperation {
  const { request } = operation;
  return {
    id: operation.id,
    routes: operation.routes.map(({ operationId, method, path }) => ({ operationId, method, path })),
    authorizationClass: operation.authorizationClass,
    accessOperation: operation.accessOperation,
    mutation: operation.mutation,
    completion: operation.completion,
    idempotency: operation.idempotency,
    sdk: operation.sdk,
    mcp: operation.mcp,
    stability: operation.stability,
    request: request === null ? null : compactRequest(request),
    responses: operation.responses.map(({ status }) => ({ status })),
    problems: operation.problems,
  };
}

function compactRequest({ bodyLimitBytes, json, overLimit }: NonNullable<CatalogOperation['request']>) {
  return {
    bodyLimitBytes,
    ...(json === undefined ? {} : { json }),
    ...(overLimit === undefined ? {} : { overLimit: { problem: overLimit.problem } }),
  };
}

/** Objects whose members are names of the contract, of any spelling. */
const NAMED = new Set([
  'paths',
  'properties',
  'schemas',
  '$defs',
  'parameters',
  'responses',
  'headers',
  'content',
]);
/** Values that are compared as they stand. */
const LITERAL = new Set(['default', 'enum', 'const']);
const PROSE = new Set(['description', 'summary', 'example', 'examples', 'externalDocs']);

/** The document without prose: the comparison with a later one finds the same. */
export function compactOpenApi(document: OpenApi): OpenApi {
  return withoutProse(document) as OpenApi;
}

function withoutProse(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutProse);
  if (!isObject(node)) return node;
  const members = Object.entries(node).filter(([name]) => !PROSE.has(name));
  return Object.fromEntries(members.map(([name, value]) => [name, member(name, value)]));
}

function member(name: string, value: unknown): unknown {
  if (LITERAL.has(name)) return value;
  if (!NAMED.has(name) || !isObject(value) || Array.isArray(value)) return withoutProse(value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutProse(each)]));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
