import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wireVectors } from '../scripts/wire-vectors.ts';

interface Catalog {
  readonly catalogVersion: string;
  readonly operations: readonly CatalogOperation[];
}

interface CatalogOperation {
  readonly id: string;
  readonly stability: string;
  readonly routes: readonly {
    readonly operationId: string;
    readonly method: string;
    readonly path: string;
  }[];
  readonly authorizationClass: string;
  readonly accessOperation: string | null;
  readonly mutation: string;
  readonly completion: string;
  readonly idempotency: object;
  readonly sdk: object;
  readonly mcp: object;
}

interface ErrorCode {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
}

interface Limit {
  readonly name: string;
  readonly value: number;
}

interface OpenApi {
  readonly paths: Record<string, object>;
  readonly components: { readonly schemas: Record<string, { required: string[] }> };
}

const RELEASES = 'contracts/releases';
const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8')) as T;
const releases = readdirSync(RELEASES).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

describe('the release in hand', () => {
  it('has one version everywhere', () => {
    const { version } = read<{ version: string }>('package.json');
    expect(read<Catalog>('contracts/public-sdk-surface.json').catalogVersion).toBe(version);
    expect(read<{ info: { version: string } }>('contracts/generated/openapi/svc.json').info.version).toBe(
      version,
    );
    expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(`## ${version}`);
    expect(releases.at(-1)).toBe(version);
  });
});

describe.each(releases)('release %s still holds', (release) => {
  const folder = join(RELEASES, release);

  it('in the OpenAPI document: nothing a client relies on was taken away', () => {
    const current = 'contracts/generated/openapi/svc.json';
    const { status, stdout } = redoclyDiff(join(folder, 'openapi.json'), current);
    expect(status, stdout).toBe(0);
  });

  it('in the catalog', () => {
    const current = read<Catalog>('contracts/public-sdk-surface.json').operations;
    for (const operation of read<Catalog>(folder, 'catalog.json').operations) {
      const { id, routes, authorizationClass, accessOperation, mutation, completion, idempotency, sdk, mcp } =
        operation;
      const now = current.find((candidate) => candidate.id === id);
      expect(now, id).toMatchObject({
        authorizationClass,
        accessOperation,
        mutation,
        completion,
        idempotency,
        sdk,
        mcp,
      });
      for (const { operationId, method, path } of routes) {
        expect(now?.routes).toContainEqual(expect.objectContaining({ operationId, method, path }));
      }
    }
  });

  it('in the error codes', () => {
    const current = read<{ errors: ErrorCode[] }>('contracts/errors.json').errors;
    for (const { code, status, retryable } of read<{ errors: ErrorCode[] }>(folder, 'errors.json').errors) {
      expect(current).toContainEqual(expect.objectContaining({ code, status, retryable }));
    }
  });

  it('in the limits, which may only be raised', () => {
    const current = read<{ limits: Limit[] }>('contracts/limits.json').limits;
    for (const { name, value } of read<{ limits: Limit[] }>(folder, 'limits.json').limits) {
      if (!name.endsWith('Max')) continue;
      expect(current.find((limit) => limit.name === name)?.value, name).toBeGreaterThanOrEqual(value);
    }
  });

  it('in every hash, id and record that it wrote', () => {
    expect(JSON.parse(JSON.stringify(wireVectors()))).toEqual(read(folder, 'wire.json'));
  });
});

describe('the comparison of releases', () => {
  it.each<[string, (document: OpenApi) => void]>([
    ['an operation that was taken away', ({ paths }) => delete paths['/health']],
    [
      'an answer member that is no longer promised',
      ({ components }) => {
        const model = components.schemas.CanonicalTransactionResult;
        if (model !== undefined) model.required = model.required.filter((name) => name !== 'replayed');
      },
    ],
  ])('finds %s', (_, change) => {
    const released = join(RELEASES, releases[0] ?? '', 'openapi.json');
    const document = read<OpenApi>(released);
    change(document);
    const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
    const changed = join(folder, 'openapi.json');
    writeFileSync(changed, JSON.stringify(document));
    const { status, stdout } = redoclyDiff(released, changed);
    rmSync(folder, { recursive: true });
    expect(status, stdout).toBe(1);
  });
});

function redoclyDiff(base: string, revision: string) {
  return spawnSync(
    'node_modules/.bin/redocly',
    ['diff', base, revision, '--fail-on', 'major', '--lint-config', 'off'],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
    },
  );
}
