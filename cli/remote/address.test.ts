import { describe, expect, test } from 'vitest';
import { exitCodes } from '../output.ts';
import { addressText, isReadableOnTheWay, serverAddress, targetOf } from './address.ts';

describe('the address of a service', () => {
  test.each([
    ['http://127.0.0.1:5220', '/health', 'http://127.0.0.1:5220'],
    ['http://127.0.0.1:5220/', '/health', 'http://127.0.0.1:5220'],
    ['HTTPS://Svc.Example.com', '/health', 'https://svc.example.com'],
    ['https://gateway.example/svc/', '/svc/health', 'https://gateway.example/svc'],
    ['https://gateway.example/a/b', '/a/b/health', 'https://gateway.example/a/b'],
    ['http://[::1]:80', '/health', 'http://[::1]'],
  ])('%s', (text, target, shown) => {
    const server = serverAddress(text);
    expect(targetOf(server, '/health')).toBe(target);
    expect(addressText(server)).toBe(shown);
  });

  test.each([
    '',
    'svc.example.com',
    'localhost:5220',
    'ftp://svc.example.com',
    'file:///etc/passwd',
    'http://',
    'https://user:hunter2@svc.example.com',
    'https://hunter2@svc.example.com',
    'https://svc.example.com?key=hunter2',
    'https://svc.example.com/#hunter2',
  ])('%j is refused and not quoted', (text) => {
    let message = '';
    try {
      serverAddress(text);
    } catch (error) {
      expect(error).toMatchObject({ name: 'ToolError', exitCode: exitCodes.usage });
      message = (error as Error).message;
    }
    expect(message).toContain('--server');
    expect(message).not.toContain('hunter2');
  });
});

test.each([
  ['https://svc.example.com', false],
  ['https://10.0.0.1', false],
  ['http://localhost:1', false],
  ['http://api.localhost', false],
  ['http://127.0.0.1', false],
  ['http://127.9.9.9', false],
  ['http://127.1', false],
  ['http://[::1]', false],
  ['http://svc.example.com', true],
  ['http://10.0.0.1', true],
  ['http://0.0.0.0', true],
  ['http://localhost.example.com', true],
  ['http://127.0.0.1.example.com', true],
  ['http://localhost.', true],
  ['http://[::ffff:127.0.0.1]', true],
])('%s can be read on the way: %s', (text, readable) => {
  expect(isReadableOnTheWay(serverAddress(text))).toBe(readable);
});
