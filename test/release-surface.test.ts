import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonSurface, typescriptSurface } from '../scripts/sdk-surface.ts';
import { surfaceFaults } from './support/release-surface.ts';

const read = (language: string) => readFileSync(`sdk/${language}/surface.txt`, 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'svc-surface-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Change = readonly [what: string, file: string, from: string, to: string, found: string];

/** A copy of the sources with all these changes: making the list takes seconds, so one list shows all of them. */
function copyOf(sources: string, changes: readonly Change[]): string {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(sources, copy, { recursive: true, filter: (path) => !/\/(dist|node_modules)$/.test(path) });
  for (const [, file, from, to] of changes) change(join(copy, file), from, to);
  return copy;
}

describe('the list of names that callers can use', () => {
  it('is that of the sources', ({ skip }) => {
    expect(read('typescript')).toBe(typescriptSurface());
    const python = pythonSurface();
    if (python === null) skip('there is no Python');
    expect(read('python')).toBe(python);
  });

  const inTypescript: readonly Change[] = [
    ['an error that is exported no more', 'src/common.ts', '  ConflictError,\n', '', 'ConflictError is gone'],
    [
      'another name',
      'src/errors.ts',
      'correlationId:',
      'correlation:',
      'APIStatusError.correlationId is gone',
    ],
    [
      'any',
      'src/errors.ts',
      'readonly retryAfter: number | null;',
      'readonly retryAfter: any;',
      'and is readonly retryAfter: any',
    ],
    ['an option', 'src/options.ts', 'insecure', 'unsafe', 'ClientOptions.insecure is gone'],
    [
      'an option of calls',
      'src/options.ts',
      'readonly signal?',
      'readonly abort?',
      'CallOptions.signal is gone',
    ],
    ['a method', 'src/call.ts', 'asResponse(', 'raw(', 'Call.asResponse is gone'],
    [
      'another base',
      'src/errors.ts',
      'APITimeoutError extends APIConnectionError',
      'APITimeoutError extends SvcError',
      'APITimeoutError was',
    ],
    [
      'a member asked for',
      'src/options.ts',
      'export interface CallOptions {',
      'export interface CallOptions {\n  readonly trace: string;',
      'CallOptions.trace is newly required',
    ],
    [
      'a code fewer',
      'src/generated/problems.ts',
      "'not_found'",
      "'no_such'",
      "ProblemCode was = 'not_found'",
    ],
  ];
  let typescriptFaults: readonly string[] = [];
  beforeAll(() => {
    const now = typescriptSurface(copyOf('sdk/typescript', inTypescript));
    typescriptFaults = surfaceFaults(read('typescript'), now);
  });

  it.each(inTypescript)('reports a change in TypeScript: %s', (_what, _file, _from, _to, found) => {
    expect(typescriptFaults).toContainEqual(expect.stringContaining(found));
  });

  const inPython: readonly Change[] = [
    ['what is exported no more', '__init__.py', '"CredentialFilter",', '', 'CredentialFilter is gone'],
    ['an option', '_options.py', 'insecure: bool', 'unsafe: bool', 'ClientOptions.insecure is gone'],
    ['an option of calls', '_options.py', 'cancellation: C', 'cancel: C', 'CallOptions.cancellation is gone'],
    ['any', '_errors.py', 'retry_after: float | None\n', 'retry_after: Any\n', 'and is retry_after: Any'],
    [
      'an attribute',
      '_responses.py',
      'self.status = status',
      'self.code = status',
      'StreamedResponse.status is gone',
    ],
    ['a method', '_paging.py', 'def collect(', 'def gather(', 'AsyncPages.collect is gone'],
    [
      'a method of raw answers',
      '_generated/client.pyi',
      'def health(',
      'def alive(',
      'OperationsWithRawResponse.health is gone',
    ],
    ['a member of a model', '_generated/models.py', 'etag:', 'tag:', 'models.CanonicalDocument.etag is gone'],
    ['a parameter asked for', '_paging.py', '*, limit: int', '*, wait: int, limit: int', 'Pages.collect was'],
  ];
  let pythonFaults: readonly string[] | null = null;
  beforeAll(() => {
    const now = pythonSurface(copyOf('sdk/python/src/svc_client', inPython));
    pythonFaults = now === null ? null : surfaceFaults(read('python'), now);
  });

  it.each(inPython)('reports a change in Python: %s', (_what, _file, _from, _to, found) => {
    if (pythonFaults !== null) expect(pythonFaults).toContainEqual(expect.stringContaining(found));
  });
});

describe('a change that breaks no caller', () => {
  const was = [
    'Client.query  def query(self, tenant: str, *, limit: int | None=None) -> str',
    'Client.run  def run(self) -> models.Run',
    'Code  = "a"',
    'Options  class(TypedDict)',
    'Options.timeout  timeout: NotRequired[float]',
    'SvcClient.query  query(tenant: string, options?: CallOptions): Call<string>',
    'Options.onLog  readonly onLog: (line: string) => void',
    'Run  type Run',
    'Run.id  readonly id: string',
    'SvcClient  class SvcClient',
    'SvcClient.run  run(): Call<Models.Run>',
    'SvcClient.write  readonly write: (key: string, at?: number) => Promise<void>',
    'Worker.__init__  def __init__(self, *, handlers: Mapping[str, Handler], limit: int=1) -> None',
    'Worker.judge  def judge(self, handlers: Mapping[str, Handler]) -> None',
    'models.Run  class(TypedDict)',
    'models.Run.id  id: str',
  ].join('\n');

  it.each([
    ['a name more', 'Code  = "a"', 'Code  = "a"\nOther  str'],
    ['a part more of a union', 'Code  = "a"', 'Code  = "a"\nCode  = "b"'],
    ['an option more', 'Options.t', 'Options.retries  retries: NotRequired[int]\nOptions.t'],
    ['an option that takes more', '[float]', '[float | None]'],
    ['a named parameter that may be left out', '*, limit', "*, kind: str='all', limit"],
    ['a last parameter that may be left out', 'CallOptions)', 'CallOptions, kind?: string)'],
    ['a last parameter of a member', 'at?: number)', 'at?: number, kind?: string)'],
    ['a further type that a constructor takes', 'Handler], limit', 'Handler] | Sequence[Step], limit'],
    [
      'a model with more members',
      'Call<Models.Run>',
      'Call<Models.Done>\nDone.id  readonly id: string\nDone.next  readonly next?: string',
    ],
    [
      'a model with more members in Python',
      '-> models.Run',
      '-> models.Done\nmodels.Done.id  id: str\nmodels.Done.next  next: NotRequired[str]',
    ],
  ])('%s', (_, from, to) => expect(surfaceFaults(was, was.replace(from, to))).toEqual([]));

  it.each([
    ['a parameter between others', 'tenant: string, ', 'tenant: string, kind?: string, '],
    ['a parameter before those with names', 'tenant: str, ', "tenant: str, kind: str='all', "],
    ['a last parameter that is asked for', 'CallOptions)', 'CallOptions, kind: string)'],
    ['a named parameter that is asked for', '*, limit', '*, kind: str, limit'],
    ['another answer', 'Call<string>', 'Call<number>'],
    ['a model that lacks a member', 'Call<Models.Run>', 'Call<Models.Done>\nDone.other  readonly id: string'],
    ['a model with another member', '-> models.Run', '-> models.Done\nmodels.Done.id  id: int'],
    ['a list of models', 'Call<Models.Run>', 'Call<Models.Done[]>\nDone.id  readonly id: string'],
    ['a model that may be absent', '-> models.Run', '-> models.Done | None\nmodels.Done.id  id: str'],
    ['an option that takes less', '[float]', '[int]'],
    ['a last parameter of a member that is asked for', 'at?: number)', 'at?: number, kind: string)'],
    ['a parameter fewer of a member', ', at?: number)', ')'],
    ['another answer of a member', 'Promise<void>', 'Promise<string>'],
    ['a last parameter of a function that callers give', '(line: string)', '(line: string, at?: number)'],
    ['a type fewer that a constructor takes', 'Mapping[str, Handler], limit', 'Sequence[Step], limit'],
    ['a further type of a constructor that asks for more', '], limit', '] | None, kind: str, limit'],
    ['a further type of a method, which callers may implement', 'Handler]) ->', 'Handler] | None) ->'],
    ['an option that is asked for', 'Options.t', 'Options.retries  retries: int\nOptions.t'],
  ])('but not %s', (_, from, to) => expect(surfaceFaults(was, was.replace(from, to))).toHaveLength(1));
});

function change(path: string, from: string, to: string): void {
  const source = readFileSync(path, 'utf8');
  expect(source).toContain(from);
  writeFileSync(path, source.replaceAll(from, to));
}
