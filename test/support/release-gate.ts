import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contracts/generated/limits.ts';
import type { Stability } from '../../contracts/operation.ts';
import type {
  Catalog,
  CatalogOperation,
  CatalogRequest,
  ErrorCode,
  OpenApi,
} from '../../scripts/release-contract.ts';
import { compactOpenApi } from '../../scripts/release-pins.ts';
import { withoutPreview } from './release-preview.ts';
import { schemaFaults } from './release-schemas.ts';

/** Whether a contract still keeps what an earlier one promised: things may be added, and nothing else. */

/** The members of an operation that a client or a server relies on, beside its routes. Members may be added to them. */
const kept = [
  'authorizationClass',
  'accessOperation',
  'mutation',
  'completion',
  'idempotency',
  'sdk',
] as const;

/**
 * The allowed changes of a stability: to a firmer one, or to one with an announced end. A public operation must not become a
 * preview, and nothing that was published may be hidden.
 */
const mayBecome: Readonly<Record<Stability, readonly Stability[]>> = {
  internal: ['internal', 'preview', 'public', 'deprecated'],
  preview: ['preview', 'public', 'deprecated'],
  public: ['public', 'deprecated'],
  deprecated: ['deprecated', 'public'],
};

export function catalogFaults(released: Catalog, now: Catalog): string[] {
  const classes = Object.entries(released.authorizationClasses).flatMap(([name, { security }]) =>
    isDeepStrictEqual(now.authorizationClasses[name]?.security, security)
      ? []
      : [`the authorization class ${name} asks for something else`],
  );
  return [...classes, ...released.operations.flatMap((operation) => operationFaults(operation, now))];
}

function operationFaults(released: CatalogOperation, catalog: Catalog): string[] {
  const now = catalog.operations.find(({ id }) => id === released.id);
  if (now === undefined) return [`${released.id} is gone`];
  const member = (operation: CatalogOperation, name: string): unknown => Reflect.get(operation, name);
  const changed = kept.filter((name) => !holds(member(released, name), member(now, name)));
  const faults = changed.map((name) => `${released.id}: ${name} is another`);
  if (isPromised(released.mcp) && !holds(released.mcp, now.mcp))
    faults.push(`${released.id}: mcp is another`);
  for (const { operationId, method, path } of released.routes) {
    if (!now.routes.some((route) => holds({ operationId, method, path }, route)))
      faults.push(`${released.id}: ${method} ${path} is gone`);
  }
  const statuses = ({ responses }: CatalogOperation) =>
    responses.map(({ status }) => status).toSorted((a, b) => a - b);
  if (!isDeepStrictEqual(statuses(released), statuses(now)))
    faults.push(`${released.id}: it succeeds with other statuses`);
  if (!mayBecome[released.stability].includes(now.stability))
    faults.push(`${released.id}: ${released.stability} may not become ${now.stability}`);
  // No exception: a code that is declared no more is a refusal that now comes under another name, or a rule that was
  // dropped on which callers counted.
  for (const code of released.problems.filter((each) => !now.problems.includes(each)))
    faults.push(`${released.id}: it no longer declares the problem ${code}`);
  return [...faults, ...requestFaults(released.request, now.request).map((it) => `${released.id}: ${it}`)];
}

/** A model that could not call an operation, or called a preview, relies on nothing of it. */
function isPromised({ exposure }: CatalogOperation['mcp']): boolean {
  return exposure !== 'none' && exposure !== 'preview';
}

/** Media type and model are the document's to compare; it does not see how much of them is taken. */
function requestFaults(released: CatalogRequest | null, now: CatalogRequest | null): string[] {
  if (released === null) return [];
  if (now === null) return ['it takes no body any more'];
  const [before, after] = [taken(released), taken(now)];
  const faults = Object.entries(before)
    .filter(([name, value]) => (after[name] ?? Infinity) < value)
    .map(([name, value]) => `${name} shrank from ${value} to ${after[name]}`);
  if (refusal(released) !== refusal(now))
    faults.push(`a larger body is refused as ${refusal(now)}, no longer as ${refusal(released)}`);
  return faults;
}

function taken({ bodyLimitBytes, json }: CatalogRequest): Readonly<Record<string, number>> {
  const usual = { depthMax: limits.jsonDepthMax, membersMax: limits.jsonMembersMax };
  return { bodyLimitBytes, ...(json ?? usual) };
}

function refusal({ overLimit }: CatalogRequest): string {
  return overLimit?.problem ?? 'payload_too_large';
}

export function errorFaults(released: readonly ErrorCode[], now: readonly ErrorCode[]): string[] {
  return released
    .filter(({ code, status, retryable }) => !now.some((each) => holds({ code, status, retryable }, each)))
    .map(({ code }) => `${code} is gone, or has another status or retryability`);
}

/**
 * Every major change by the comparison of the documents, and the changes that it misses: operations that were opened, and
 * narrowed schemas. Both documents are compacted first, so a whole release and its pins are judged alike. Preview members are left
 * out.
 */
export async function openApiFaults(releasedPath: string, nowPath: string): Promise<string[]> {
  const documents = await Promise.all([documentAt(releasedPath), documentAt(nowPath)]);
  const { released, now } = withoutPreview(...documents);
  const opened = Object.entries(released.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { security }]) =>
      isDeepStrictEqual(now.paths[path]?.[method]?.security, security)
        ? []
        : [`${method.toUpperCase()} ${path} asks for other credentials`],
    ),
  );
  const own = [...opened, ...schemaFaults(released, now)];
  const folder = await mkdtemp(join(tmpdir(), 'svc-openapi-'));
  try {
    const { code, output } = await redoclyDiff(
      await written(join(folder, 'released.json'), released),
      await written(join(folder, 'now.json'), now),
    );
    return code === 0 ? own : [...own, output];
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function written(path: string, document: OpenApi): Promise<string> {
  await writeFile(path, JSON.stringify(document));
  return path;
}

async function documentAt(path: string): Promise<OpenApi> {
  return compactOpenApi(JSON.parse(await readFile(path, 'utf8')) as OpenApi);
}

async function redoclyDiff(base: string, revision: string) {
  const args = ['diff', base, revision, '--fail-on', 'major', '--lint-config', 'off'];
  const child = spawn('node_modules/.bin/redocly', args, {
    env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Whether every earlier member is still there with the same value. */
function holds(released: unknown, now: unknown): boolean {
  if (typeof released !== 'object' || released === null || Array.isArray(released))
    return isDeepStrictEqual(released, now);
  if (typeof now !== 'object' || now === null) return false;
  return Object.entries(released).every(([name, value]) => holds(value, Reflect.get(now, name)));
}
