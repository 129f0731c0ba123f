import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { answerHead, redactorOf, requestHead } from './heads.ts';

const server = new URL('https://svc.example.com');
const redact = redactorOf(['k', 'key-1', 'token-1']);

test('the head of a request is shown without its credentials', () => {
  const headers = [
    ['User-Agent', 'svc/1'],
    ['X-Svc-Api-Key', 'another-secret'],
    ['X-Serverless-Authorization', 'Bearer token-1'],
    ['X-Anything', 'that no list names'],
    ['MCP-Protocol-Version', '2025-11-25'],
    ['Content-Type', 'application/json'],
  ] as const;
  const request = { method: 'POST', path: '/a', headers, body: Buffer.from('{}') };
  expect(requestHead(server, request, '/a?x=1', redactorOf([]))).toEqual([
    '> POST /a?x=1 HTTP/1.1',
    '> Host: svc.example.com',
    '> User-Agent: svc/1',
    '> X-Svc-Api-Key: [redacted]',
    '> X-Serverless-Authorization: [redacted]',
    '> X-Anything: [redacted]',
    '> MCP-Protocol-Version: 2025-11-25',
    '> Content-Type: application/json',
    '> Content-Length: 2',
  ]);
});

test('the head of an answer is shown without credentials, cookies and characters that move the cursor', () => {
  const answer = {
    httpVersion: '1.1',
    statusCode: 200,
    statusMessage: 'Fine token-1',
    rawHeaders: ['X-Echo', 'is key-1', 'Set-Cookie', 'session=1', 'X-Odd', '\u009b1m', 'ETag', '"1"'],
  } as IncomingMessage;
  expect(answerHead(answer, redact)).toEqual([
    '< HTTP/1.1 200 Fine [redacted]',
    '< X-Echo: is [redacted]',
    '< Set-Coo[redacted]ie: [redacted]',
    '< X-Odd: \\u009b1m',
    '< ETag: "1"',
  ]);
});

test('the longest secret goes first, so that none is left in part', () => {
  expect(redactorOf(['ab', 'abcd'])('xabcdx ab')).toBe('x[redacted]x [redacted]');
});
