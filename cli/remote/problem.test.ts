import { describe, expect, test } from 'vitest';
import { problems } from '../../contracts/generated/errors.ts';
import { exitCodeOf, refusalLines } from './problem.ts';

// Pinned: scripts depend on these codes.
test.each([
  [200, 0],
  [204, 0],
  [301, 1],
  [400, 1],
  [401, 5],
  [403, 5],
  [404, 3],
  [405, 1],
  [408, 1],
  [409, 4],
  [412, 4],
  [413, 1],
  [415, 1],
  [429, 6],
  [431, 1],
  [500, 6],
  [503, 6],
])('an answer of %i ends the tool with %i', (status, code) => {
  expect(exitCodeOf(status)).toBe(code);
});

test('every refusal of the contract ends it otherwise than well', () => {
  for (const { status } of Object.values(problems)) expect(exitCodeOf(status)).toBeGreaterThan(0);
});

const plain = (text: string) => text;
const refusal = (body: unknown, more = {}) => ({
  status: 409,
  reason: 'Conflict',
  mediaType: 'application/problem+json',
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
});

describe('a problem document', () => {
  const problem = {
    type: 'urn:svc:problem:fence_conflict',
    title: 'Fence conflict',
    status: 409,
    detail: 'Another document holds it.',
    instance: 'urn:svc:request:abc',
    code: 'fence_conflict',
    retryable: false,
    correlationId: 'abc',
    errors: [
      { pointer: '/fences/0', keyword: 'fence', detail: 'is held' },
      { pointer: '', keyword: 'required' },
    ],
    fence: { name: 'policy-number' },
  };

  test('is printed with all its members', () => {
    expect(refusalLines(refusal(problem), plain)).toEqual([
      '409 Fence conflict [fence_conflict]',
      '  Another document holds it.',
      '  at /fences/0: is held',
      '  at /: required',
      '  fence: {"name":"policy-number"}',
      '  correlation id: abc',
    ]);
  });

  test('tells when to try again', () => {
    expect(refusalLines(refusal({ ...problem, retryAfterSeconds: 5 }), plain)).toContain(
      '  try again after 5 s',
    );
    expect(refusalLines(refusal({ ...problem, retryable: true }), plain)).toContain('  can be tried again');
  });

  test('moves no cursor and repeats no credential', () => {
    const hostile = { title: 'a\u001b[2J', detail: 'your key hunter2\nis good', code: 'x\u009b' };
    const lines = refusalLines(refusal(hostile), (text) => text.replaceAll('hunter2', '***'));
    expect(lines).toEqual(['409 a\\u001b[2J [x\\u009b]', '  your key ***\\u000ais good']);
  });

  test('may be odd', () => {
    for (const body of ['', '{', '[]', 'null', '{"title":1,"errors":{},"detail":[]}', '{"errors":[1,null]}'])
      expect(refusalLines(refusal(body), plain)[0]).toMatch(/^409 /);
  });
});

test('an answer without a problem document is shown with its status and the beginning of its text', () => {
  const html = { status: 502, reason: 'Bad Gateway', mediaType: 'text/html' };
  expect(refusalLines(refusal(`<h1>\n\tBad   gateway</h1>${'x'.repeat(900)}`, html), plain)).toEqual([
    '502 Bad Gateway',
    '  The answer is no problem document (text/html).',
    expect.stringMatching(/^ {2}<h1> Bad gateway<\/h1>x+…$/),
  ]);
  const moved = { status: 302, reason: 'Found', mediaType: '', location: 'https://login.example' };
  expect(refusalLines(refusal('', moved), plain)[1]).toBe(
    '  The answer leads to https://login.example, where nothing was sent.',
  );
});
