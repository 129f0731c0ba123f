import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { OpenApi } from '../scripts/release-contract.ts';
import { openApiFaults } from './support/release-gate.ts';
import { surfaceWithoutPreview } from './support/release-preview.ts';
import { surfaceFaults } from './support/release-surface.ts';

const OPENAPI = 'contracts/generated/openapi/svc.json';
const read = (): OpenApi => JSON.parse(readFileSync(OPENAPI, 'utf8')) as OpenApi;

const folder = mkdtempSync(join(tmpdir(), 'svc-release-preview-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RUN = 'ExecutionRun';
const WAIT = 'ExecutionExternalWorkerWaitRequest';

function schemaOf({ components }: OpenApi, name: string) {
  return components.schemas[name] ?? expect.fail(`no ${name}`);
}

function takeAway(document: OpenApi, model: string, member: string): void {
  const schema = schemaOf(document, model);
  delete (schema.properties as Partial<typeof schema.properties>)[member];
  schema.required = (schema.required ?? []).filter((each) => each !== member);
}

function list(document: OpenApi) {
  return document.paths['/execution/runs']?.['get'] ?? expect.fail('no list of runs');
}

async function faultsOf(change: (document: OpenApi) => void): Promise<string> {
  const document = read();
  change(document);
  const path = join(folder, 'changed.json');
  writeFileSync(path, JSON.stringify(document));
  return (await openApiFaults(OPENAPI, path)).join('\n');
}

describe('a preview member of a release', () => {
  it('may change or go', async () => {
    const found = await faultsOf((document) => {
      takeAway(document, RUN, 'handlerVersion');
      takeAway(document, WAIT, 'names');
      takeAway(document, 'ExecutionExternalWorkerLease', 'checkpoints');
      delete (document.components.schemas as Partial<OpenApi['components']['schemas']>)[
        'ExecutionLeaseCheckpoints'
      ];
      Object.assign(schemaOf(document, RUN).properties['failures'] ?? {}, { type: 'string' });
      const operation = list(document);
      const kept = (operation.parameters ?? []).filter(({ name }) => name !== 'handlerVersion');
      Object.assign(operation, { parameters: kept });
    });
    expect(found).toBe('');
  });

  it('may not become required of callers', async () => {
    const found = await faultsOf((document) => schemaOf(document, WAIT).required.push('names'));
    expect(found).toContain('became required: `names`');
  });

  it.each([
    ['a preview value more', 'run', ['run'], ''],
    ['a value more without the mark', 'run', [], "gained values: 'run'"],
    ['a value that was promised', 'timed_out', ['timed_out'], ''],
  ])('%s of a vocabulary', async (_, value, preview, found) => {
    const released = read();
    const now = read();
    const outcome = 'ExecutionWaitOutcome';
    for (const [document, marked] of [
      [released, []],
      [now, preview],
    ] as const)
      Object.assign(schemaOf(document, outcome), { 'x-svc-preview-values': marked });
    schemaOf(released, outcome).enum = schemaOf(released, outcome).enum.filter((each) => each !== 'run');
    schemaOf(now, outcome).enum = [...new Set([...schemaOf(released, outcome).enum, value])];
    const [before, after] = ['before', 'after'].map((name) => join(folder, `${name}.json`));
    writeFileSync(before ?? '', JSON.stringify(released));
    writeFileSync(after ?? '', JSON.stringify(now));
    const faults = (await openApiFaults(before ?? '', after ?? '')).join('\n');
    if (found === '') expect(faults).toBe('');
    else expect(faults).toContain(found);
  });

  it('frees no other member of its model, and no parameter beside it', async () => {
    const found = await faultsOf((document) => {
      takeAway(document, RUN, 'maxAttempts');
      const operation = list(document);
      const kept = (operation.parameters ?? []).filter(({ name }) => name !== 'handlerId');
      Object.assign(operation, { parameters: kept });
    });
    expect(found).toContain('maxAttempts');
    expect(found).toContain('handlerId');
  });

  it('frees no model that a public member has too', async () => {
    const found = await faultsOf((document) => takeAway(document, 'ExecutionCheckpoint', 'contentHash'));
    expect(found).toContain('contentHash');
  });
});

describe('the lines of a preview member', () => {
  const lines = (members: string, parameters: string, typescript: string) =>
    [
      'Client.list_execution_runs  ' +
        `def list_execution_runs(self, *, handler_id: str | None=None${parameters}) -> models.ExecutionRunList`,
      `ExecutionRun.maxAttempts  readonly maxAttempts: number`,
      'models.ExecutionRun.maxAttempts  maxAttempts: int',
      members,
      typescript,
    ].join('\n');
  const released = lines(
    'models.ExecutionRun.failures  failures: int\nExecutionRun.failures  readonly failures: number',
    ', handler_version: str | None=None, status: str | None=None',
    'ListExecutionRunsParameters.handlerVersion  readonly handlerVersion?: string',
  );
  const now = lines('', ', status: str | None=None', '');

  it('may go with it', () => {
    expect(surfaceFaults(released, now)).toHaveLength(4);
    expect(surfaceFaults(surfaceWithoutPreview(released, read()), now)).toEqual([]);
  });

  it('may go with a value', () => {
    const values = "ExecutionWaitOutcome  = 'run'\nmodels.ExecutionWaitOutcome  = 'run'\n";
    const kept = surfaceWithoutPreview(`${values}ExecutionWaitOutcome  = 'timer'`, read());
    expect(kept).toBe("ExecutionWaitOutcome  = 'timer'");
  });

  it('may not take others along', () => {
    const less = now.replace('ExecutionRun.maxAttempts', 'ExecutionRun.attemptsMax');
    expect(surfaceFaults(surfaceWithoutPreview(released, read()), less)).toEqual([
      'ExecutionRun.maxAttempts is gone',
    ]);
  });
});
