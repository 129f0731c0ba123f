import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { versionFaults } from '../scripts/versions.ts';
import { wireVectors } from '../scripts/wire-vectors.ts';
import {
  type Catalog,
  catalogFaults,
  type ErrorCode,
  errorFaults,
  type OpenApi,
  type OpenApiOperation,
  type OpenApiSchema,
  openApiFaults,
} from './support/release-gate.ts';

interface Limit {
  readonly name: string;
  readonly value: number;
}

const RELEASES = 'contracts/releases';
const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8')) as T;
const releases = readdirSync(RELEASES).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const OPENAPI = 'contracts/generated/openapi/svc.json';
const CATALOG = 'contracts/public-sdk-surface.json';
const ERRORS = 'contracts/errors.json';
const VERSIONED = [
  'package-lock.json',
  CATALOG,
  OPENAPI,
  'sdk/typescript/package.json',
  'sdk/typescript/src/generated/version.ts',
  'sdk/python/src/svc_client/_generated/version.py',
  'sdk/wire/requests.json',
  'CHANGELOG.md',
  `${RELEASES}/${releases.at(-1)}/openapi.json`,
  `${RELEASES}/${releases.at(-1)}/catalog.json`,
];

const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the release in hand', () => {
  it('has one version everywhere', () => {
    expect(versionFaults('.')).toEqual([]);
    expect(releases.at(-1)).toBe(read<{ version: string }>('package.json').version);
  });

  it.each(VERSIONED)('would not be released with another version in %s', (path) => {
    const { version } = read<{ version: string }>('package.json');
    const copy = join(folder, path.replaceAll('/', '-'));
    for (const each of ['package.json', ...VERSIONED, 'sdk/python/pyproject.toml'])
      cpSync(each, join(copy, each));
    expect(versionFaults(copy)).toEqual([]);
    const text = readFileSync(path, 'utf8');
    writeFileSync(join(copy, path), text.replace(version, '9.9.9'));
    expect(versionFaults(copy)).toEqual([expect.stringContaining(path)]);
  });
});

describe.each(releases)('release %s still holds', (release) => {
  const promised = join(RELEASES, release);

  it('in the OpenAPI document: nothing a client relies on was taken away', async () => {
    expect(await openApiFaults(join(RELEASES, release, 'openapi.json'), OPENAPI)).toEqual([]);
  });

  it('in the catalog', () => {
    expect(catalogFaults(read(promised, 'catalog.json'), read(CATALOG))).toEqual([]);
  });

  it('in the error codes', () => {
    const { errors } = read<{ errors: ErrorCode[] }>(promised, 'errors.json');
    expect(errorFaults(errors, read<{ errors: ErrorCode[] }>(ERRORS).errors)).toEqual([]);
  });

  it('in the limits, which may only be raised', () => {
    const current = read<{ limits: Limit[] }>('contracts/limits.json').limits;
    for (const { name, value } of read<{ limits: Limit[] }>(promised, 'limits.json').limits) {
      if (!name.endsWith('Max')) continue;
      expect(current.find((limit) => limit.name === name)?.value, name).toBeGreaterThanOrEqual(value);
    }
  });

  it('in every hash, id and record that it wrote', () => {
    expect(JSON.parse(JSON.stringify(wireVectors()))).toEqual(read(promised, 'wire.json'));
  });
});

describe('the fixtures of a release', () => {
  const git = (...args: string[]) =>
    spawnSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 }).stdout?.trim() ?? '';
  const tagged = git('tag', '--list', 'v*')
    .split('\n')
    .filter((tag) => releases.includes(tag.slice(1)));

  it.skipIf(tagged.length === 0)('are those of its tag (skipped where the copy has no tags)', () => {
    for (const tag of tagged) {
      const place = `${RELEASES}/${tag.slice(1)}`;
      expect(git('diff', '--name-only', tag, '--', place), tag).toBe('');
    }
  });
});

const COMMIT = '/canonical/tenants/{tenantId}/transactions';

/** Changes that break a client, each on a copy of the contract as it is. */
describe('the comparison finds', () => {
  const inDocument: readonly [kind: string, what: string, (document: OpenApi) => void][] = [
    ['a removed operation', '/health', ({ paths }) => delete paths['/health']],
    ['a removed field', 'of an answer', inSchema('CanonicalDocument', takeAway('etag'))],
    ['a removed field', 'of a request', inSchema('CanonicalTransactionRequest', takeAway('actor'))],
    ['a removed field', 'no longer promised', inSchema('CanonicalTransactionResult', unpromise('replayed'))],
    [
      'a narrowed schema',
      'required',
      inSchema('CanonicalTransactionRequest', (s) => s.required.push('actor')),
    ],
    ['a narrowed schema', 'maxItems', limited('CanonicalTransactionRequest', 'mutations', 'maxItems', 1)],
    ['a narrowed schema', 'maximum', limited('CanonicalDocumentRevisionQuery', 'limit', 'maximum', 10)],
    ['a narrowed schema', 'pattern', limited('CanonicalTransactionRequest', 'actor', 'pattern', '^a')],
    ['a narrowed schema', 'not null', limited('CanonicalTransactionRequest', 'actor', 'type', 'string')],
    [
      'a narrowed schema',
      'a value fewer',
      limited('CanonicalOutboxQuery', 'state', 'enum', ['ready', 'delivered', null]),
    ],
    [
      'a changed status vocabulary',
      'one more value',
      inSchema('CanonicalMutationOperation', addValue('merge')),
    ],
    ['a changed status vocabulary', '409 is gone', onCommit(({ responses }) => delete responses['409'])],
    [
      'a changed status vocabulary',
      '201 for 200',
      onCommit(({ responses }) => {
        responses['201'] = responses['200'] ?? {};
        delete responses['200'];
      }),
    ],
    [
      'a changed authorization',
      'narrowed',
      onCommit((operation) => (operation.security = [{ SvcBearer: [] }])),
    ],
    ['a changed authorization', 'opened', onCommit((operation) => (operation.security = []))],
    [
      'a changed authorization',
      'closed',
      ({ paths }) => {
        for (const operation of Object.values(paths['/health'] ?? {}))
          operation.security = [{ SvcBearer: [] }];
      },
    ],
  ];

  it.each(inDocument)('%s in the document: %s', async (kind, what, change) => {
    const document = read<OpenApi>(OPENAPI);
    change(document);
    const changed = join(folder, `${kind}-${what}.json`.replaceAll('/', ' '));
    writeFileSync(changed, JSON.stringify(document));
    expect(await openApiFaults(OPENAPI, changed)).not.toEqual([]);
  });

  const inCatalog: readonly [kind: string, change: object, found: string][] = [
    ['another method name', { sdk: { typescript: 'commit', python: 'commit' } }, 'sdk'],
    ['a changed authorization class', { authorizationClass: 'anonymous' }, 'authorizationClass'],
    ['a changed access operation', { accessOperation: 'read' }, 'accessOperation'],
    ['a key that is no longer asked for', { idempotency: { requirement: 'optional' } }, 'idempotency'],
    ['a changed success', { responses: [{ status: 202 }] }, 'other statuses'],
    ['a removed route', { routes: [] }, 'is gone'],
  ];

  it.each(inCatalog)('%s in the catalog', (_, change, found) => {
    const now = read<Catalog>(CATALOG);
    const operations = now.operations.map((operation) =>
      operation.id === 'commitCanonicalTransaction' ? { ...operation, ...change } : operation,
    );
    const faults = catalogFaults(now, { ...now, operations });
    expect(faults).toEqual([expect.stringContaining(found)]);
  });

  it('an authorization class that asks for less', () => {
    const now = read<Catalog>(CATALOG);
    const authorizationClasses = { ...now.authorizationClasses, 'canonical-policy': { security: [] } };
    expect(catalogFaults(now, { ...now, authorizationClasses })).toHaveLength(1);
  });

  it.each<[string, Partial<ErrorCode>]>([
    ['another code', { code: 'other' }],
    ['another status', { status: 409 }],
    ['another retryability', { retryable: true }],
  ])('%s among the errors', (_, change) => {
    const { errors } = read<{ errors: ErrorCode[] }>(ERRORS);
    const now = errors.map((each) => (each.code === 'not_found' ? { ...each, ...change } : each));
    expect(errorFaults(errors, now)).toEqual([expect.stringContaining('not_found')]);
  });

  it('nothing where something is added', async () => {
    const document = read<OpenApi>(OPENAPI);
    inSchema(
      'CanonicalTransactionRequest',
      ({ properties }) => (properties.note = { type: 'string' }),
    )(document);
    const changed = join(folder, 'added.json');
    writeFileSync(changed, JSON.stringify(document));
    expect(await openApiFaults(OPENAPI, changed)).toEqual([]);
  });
});

function inSchema(name: string, change: (schema: OpenApiSchema) => unknown) {
  return ({ components }: OpenApi): void => {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`there is no schema ${name}`);
    change(schema);
  };
}

function unpromise(member: string) {
  return (schema: OpenApiSchema): void => {
    schema.required = schema.required.filter((name) => name !== member);
  };
}

function takeAway(member: string) {
  return (schema: OpenApiSchema): void => {
    delete schema.properties[member];
    unpromise(member)(schema);
  };
}

function limited(name: string, member: string, keyword: string, value: unknown) {
  return inSchema(name, ({ properties }) => {
    properties[member] = { ...properties[member], [keyword]: value };
  });
}

function addValue(value: string) {
  return (schema: OpenApiSchema): void => {
    schema.enum = [...schema.enum, value];
  };
}

function onCommit(change: (operation: OpenApiOperation) => unknown) {
  return ({ paths }: OpenApi): void => {
    const operation = paths[COMMIT]?.post;
    if (operation === undefined) throw new Error(`there is no POST ${COMMIT}`);
    change(operation);
  };
}
