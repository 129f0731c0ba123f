import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { expandGroups } from '../contracts/generate/entries/expand.ts';
import { lintEntries } from '../contracts/generate/entries/lint.ts';
import type { ComposedEntry, GroupSource } from '../contracts/generate/entries/types.ts';
import { readEntries, readSurroundings } from '../contracts/generate/source.ts';
import catalog from '../contracts/public-sdk-surface.json' with { type: 'json' };
import {
  conformanceStub,
  handlerPath,
  handlerStub,
  inSuite,
  registered,
} from '../scripts/new-operation/code.ts';
import { inChangelog, planOperation } from '../scripts/new-operation/plan.ts';
import { AnswerFault, completed, type Given, type NewOperation } from '../scripts/new-operation/request.ts';
import { nextSteps } from '../scripts/new-operation/steps.ts';
import { unfinishedStubs } from '../scripts/new-operation/unfinished.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-new-operation-'));
const surroundings = readSurroundings('.');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PARCEL: Given = {
  group: 'canonical',
  id: 'getCanonicalParcel',
  method: 'get',
  path: '/canonical/tenants/{tenantId}/parcels/{parcelId}',
};
const parcel = completed(PARCEL, catalog);
const job = completed(
  {
    ...PARCEL,
    group: 'parcels',
    id: 'importParcels',
    method: 'POST',
    path: '/parcels/import',
    mutation: 'write',
    access: 'write',
    authorizationClass: 'canonical-policy',
    job: 'parcels.import',
    resource: 'import',
  },
  catalog,
);

/** The planned entry, written out as the generator does it. */
function writtenOut(files: ReadonlyMap<string, string>, { group, id }: NewOperation): ComposedEntry {
  const planned = JSON.parse(files.get(`contracts/operations/${group}.json`) ?? '') as GroupSource;
  const { operations } = expandGroups({ [group]: planned }, surroundings)[group] ?? { operations: [] };
  const entry = operations.find((each) => each.id === id);
  if (entry === undefined) throw new Error(`no entry ${id}`);
  return entry;
}

/** The faults of the published entries together with the planned one. */
function lintedWith(files: ReadonlyMap<string, string>, group: string): readonly string[] {
  const planned = JSON.parse(files.get(`contracts/operations/${group}.json`) ?? '') as GroupSource;
  return lintEntries({ ...readEntries('contracts/operations'), [group]: planned }, surroundings);
}

/** The project with an unreleased version in the change log, which it lacks between a release and the next change. */
const root = mkdtempSync(join(tmpdir(), 'svc-plan-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
for (const name of readdirSync('.').filter((each) => each !== 'CHANGELOG.md'))
  symlinkSync(resolve(name), join(root, name));
const changelog = readFileSync('CHANGELOG.md', 'utf8');
writeFileSync(
  join(root, 'CHANGELOG.md'),
  changelog.includes(' (unreleased)\n')
    ? changelog
    : changelog.replace('\n## ', '\n## 9.9.9 (unreleased)\n\nFor users:\n\n- A line.\n\n## '),
);

describe('the answers', () => {
  it('follow from group, id, method and path', () => {
    expect(parcel).toMatchObject({ method: 'GET', mutation: 'read', access: 'read', resource: 'parcel' });
    expect(parcel).toMatchObject({ authorizationClass: 'canonical-policy', stability: 'preview', job: null });
  });

  it.each<[string, Given, string]>([
    ['no group', { group: undefined }, '--group must be'],
    ['an id that is taken', { id: 'getHealth' }, 'exists already'],
    ['an id of one word', { id: 'parcel' }, '--id must be'],
    ['an unknown method', { method: 'HEAD' }, '--method must be one of'],
    ['a path without a slash', { path: 'parcels' }, '--path must be'],
    ['a GET that writes', { mutation: 'write' }, 'GET only reads'],
    ['a write without its kind', { method: 'POST' }, '--mutation must be one of'],
    ['a right of another class', { access: 'start_run' }, '--access must be one of'],
    ['a new group without a class', { group: 'parcels' }, '--class must be one of'],
    ['a job that reads', { job: 'parcels.import' }, '--job needs'],
  ])('are refused: %s', (_, change, fault) => {
    expect(() => completed({ ...PARCEL, ...change }, catalog)).toThrow(AnswerFault);
    expect(() => completed({ ...PARCEL, ...change }, catalog)).toThrow(fault);
  });
});

describe('an operation of a known group', () => {
  const files = planOperation(root, parcel);

  it('touches the entry, models, handler, conformance, scenario and change log', () => {
    expect([...files.keys()]).toEqual([
      'contracts/operations/canonical.json',
      'contracts/schemas/canonical.schema.json',
      'functions/groups/canonical/parcel/get-canonical-parcel.ts',
      'functions/groups/canonical/handlers.ts',
      'test/conformance/canonical-get-canonical-parcel.ts',
      'test/conformance/canonical.ts',
      'sdk/scenario/scenario.json',
      'CHANGELOG.md',
    ]);
  });

  it('leaves stubs that the check of stubs finds until they are written', () => {
    const copy = join(folder, 'known');
    for (const place of [
      'contracts/operations',
      'contracts/schemas',
      'contracts/catalog.json',
      'contracts/shared.json',
      'sdk/scenario',
      'CHANGELOG.md',
    ])
      cpSync(place, join(copy, place), { recursive: true });
    for (const [path, text] of files) {
      cpSync('package.json', join(copy, path));
      writeFileSync(join(copy, path), text);
    }
    const found = unfinishedStubs(copy);
    for (const path of [...files.keys()].filter((each) => !/handlers|conformance\/canonical\.ts/.test(each)))
      expect(found, path).toContainEqual(expect.stringMatching(new RegExp(`^${path}:\\d+: \\w`)));
    for (const path of files.keys()) {
      const text = readFileSync(join(copy, path), 'utf8');
      writeFileSync(join(copy, path), text.replaceAll('NOT WRITTEN YET', 'Written'));
    }
    expect(unfinishedStubs(copy)).toEqual([]);
    expect(dirname(handlerPath(parcel))).toBe('functions/groups/canonical/parcel');
  });

  it.each([
    ['', ''],
    ['For users:\n\n- One.\n', '\nFor contributors:\n\n- Two.\n'],
    ['- One.\n', '\n## 0.1.0 (2026-01-02)\n\nFor contributors:\n\n- Two.\n'],
  ])('gets an entry in the change log, after %j', (before, after) => {
    const heading = '## 0.2.0 (unreleased)\n\n';
    const text = inChangelog(`${heading}${before}${after}`, parcel);
    const line = text.slice(heading.length + before.length, text.length - after.length);
    expect(text).toBe(`${heading}${before}${line}${after}`);
    expect(line).toMatch(/^- Get canonical parcel: .+\n$/);
  });

  it('takes a tenant id as a single path segment, and another parameter as free text', () => {
    const [tenant, id] = writtenOut(files, parcel).parameters;
    expect(tenant).toMatchObject({ name: 'tenantId', strict: true });
    expect(id).toMatchObject({ name: 'parcelId' });
    expect(id).not.toHaveProperty('strict');
  });

  it('has an entry without faults', () => {
    expect(lintedWith(files, 'canonical')).toEqual([]);
    expect(writtenOut(files, parcel)).toMatchObject({ stability: 'preview', mutation: 'read' });
  });

  it.each([
    ['contracts/operations/canonical.json', 28],
    ['contracts/schemas/canonical.schema.json', 12],
    ['sdk/scenario/scenario.json', 6],
  ])('adds its lines at the end of %s, at most %i, and changes no other', (path, most) => {
    const [before, after] = [readFileSync(path, 'utf8'), files.get(path) ?? ''].map((text) =>
      text.split('\n'),
    );
    const kept = (before ?? []).slice(0, -5);
    expect((after ?? []).slice(0, kept.length)).toEqual(kept);
    expect((after ?? []).length - (before ?? []).length).toBeLessThanOrEqual(most);
  });

  it('refuses every call and fails its test until it is written', () => {
    const handlers = readFileSync('functions/groups/canonical/handlers.ts', 'utf8');
    expect(handlerStub(parcel, handlers)).toContain("Promise.reject(new Error('NOT");
    const suite = readFileSync('test/conformance/canonical.ts', 'utf8');
    expect(conformanceStub(parcel, suite)).toContain("expect.fail('NOT");
  });

  it('is registered in its group and in its suite', () => {
    const handlers = registered(readFileSync('functions/groups/canonical/handlers.ts', 'utf8'), parcel);
    expect(handlers).toContain("from './parcel/get-canonical-parcel.ts'");
    expect(handlers).toContain('    getCanonicalParcel: getCanonicalParcel(dependencies),\n  };');
    const suite = inSuite(readFileSync('test/conformance/canonical.ts', 'utf8'), parcel);
    expect(suite).toContain('    describeGetCanonicalParcel(conformance);\n');
    expect(suite).toContain("from './canonical-get-canonical-parcel.ts'");
  });
});

describe('an operation of each group', () => {
  const groups = Object.keys(catalog.groups);
  const given = { ...PARCEL, id: 'getParcel', path: '/parcels/{parcelId}' };

  it.each(groups)('has its stubs: %s', (group) => {
    const access = group === 'execution' ? 'maintenance' : 'read';
    const operation = completed({ ...given, group, access }, catalog);
    const files = planOperation(root, operation);
    const handlers = files.get(`functions/groups/${group}/handlers.ts`) ?? '';
    const [, names] = /getParcel: getParcel\(([^)]*)\)/.exec(handlers) ?? [];
    const stub = files.get(`functions/groups/${group}/parcel/get-parcel.ts`) ?? '';
    const [, parameters = ''] = /getParcel\(([^)]*)\): Handler<'getParcel'>/.exec(stub) ?? [];
    expect([...parameters.matchAll(/_(\w+):/g)].map((match) => match[1]).join(', ')).toBe(names);
    for (const [, path = ''] of stub.matchAll(/from '([^']*)'/g))
      expect(existsSync(join(`functions/groups/${group}/parcel`, path)), path).toBe(true);
    const tests = files.get(`test/conformance/${group}-get-parcel.ts`) ?? '';
    expect(tests).toContain('describeGetParcel(');
    const runs =
      files.get(`test/conformance/${group}.ts`) ?? files.get(`test/conformance/${group}-get-parcel.test.ts`);
    expect(runs).toContain('describeGetParcel(');
  });
});

describe('the first job of a group', () => {
  it('lets its function create tasks', () => {
    const given = { ...PARCEL, id: 'foldParcels', method: 'POST', mutation: 'write', job: 'parcels.fold' };
    const map = planOperation(root, completed(given, catalog)).get('infra/groups.tf');
    expect(map).toMatch(/^ {4}canonical +=.* queues = true, buckets = \["artifacts"\]/m);
    expect(map?.replace(/^ {4}canonical .*\n/m, '')).toBe(
      readFileSync('infra/groups.tf', 'utf8').replace(/^ {4}canonical .*\n/m, ''),
    );
  });
});

describe('an operation of a new group, with a job', () => {
  const files = planOperation(root, job);

  it('makes the group, and lists its function', () => {
    const listed = ['infra/groups.tf', 'docs/infrastructure.md', 'docs/local-cloud.md', 'docs/firebase.md'];
    expect([...files.keys()].filter((path) => !path.includes('parcels'))).toEqual([
      'sdk/scenario/scenario.json',
      'CHANGELOG.md',
      ...listed,
    ]);
    for (const path of listed) {
      const before = readFileSync(path, 'utf8').split('\n');
      const added = (files.get(path) ?? '').split('\n').filter((line) => !before.includes(line));
      expect(added, path).toEqual([expect.stringContaining('parcels')]);
    }
    expect(files.get('infra/groups.tf')).toContain(
      '    parcels     = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }\n  }\n',
    );
    expect(files.get('functions/compose/groups/parcels.ts')).toContain('parcelsHandlers');
    expect(files.get('functions/groups/parcels/handlers.ts')).toContain('importParcels(dependencies)');
    expect(files.get('test/conformance/parcels.test.ts')).toContain('describeParcels(tested)');
    expect(files.get('test/conformance/parcels.ts')).toContain('describeImportParcels(conformance)');
  });

  it('has an entry without faults', () => expect(lintedWith(files, 'parcels')).toEqual([]));

  it('has one beside another scaffolded job, whose parts are the same', () => {
    const other = planOperation(root, {
      ...job,
      group: 'ledgers',
      id: 'importLedgers',
      path: '/ledgers/import',
    });
    const planned = Object.entries({ parcels: files, ledgers: other }).map(([group, texts]) => [
      group,
      JSON.parse(texts.get(`contracts/operations/${group}.json`) ?? '') as GroupSource,
    ]);
    const sources = { ...readEntries('contracts/operations'), ...Object.fromEntries(planned) };
    expect(lintEntries(sources, surroundings)).toEqual([]);
  });

  it('answers the admission of its job', () => {
    const entry = writtenOut(files, job);
    expect(entry.responses).toMatchObject([
      {
        status: 202,
        schema: 'AdmissionReceipt',
        headers: [{ name: 'Location' }, { name: 'Idempotency-Replayed' }],
      },
    ]);
    expect(entry.parameters.map(({ name }) => name)).toEqual([
      'productId',
      'tenantId',
      'Idempotency-Key',
      'X-Idempotency-Key',
    ]);
    expect(entry.idempotency.requirement).toBe('supported');
    expect(entry.problems).toContain('product_policy_violation');
    expect(files.get('functions/groups/parcels/jobs.ts')).toContain("handlerId: 'parcels.import'");
    expect(nextSteps(job)).toContain('parcels.import');
  });
});
