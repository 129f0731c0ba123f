import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Scope } from '../port.ts';
import {
  decodeNames,
  decodeText,
  encodeNames,
  encodeScopeName,
  encodeText,
  headPath,
  parseDocumentId,
  recordPath,
} from './layout.ts';

const odd = fc.constantFrom('.', '..', '__x__', 'a/b', 'a%2Fb', '%', '%25', '/', ' ', 'é', '😀', 't-', '~');
const names = fc.oneof(odd, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 160 }));
const scopes: fc.Arbitrary<Scope> = fc.record({
  kind: fc.constantFrom('tenants' as const, 'spaces' as const, 'system' as const),
  name: names,
});

describe('scope names', () => {
  test('two scopes never share a head', () => {
    fc.assert(
      fc.property(scopes, scopes, (one, other) => {
        const same = one.kind === other.kind && one.name === other.name;
        expect(headPath(one) === headPath(other)).toBe(same);
      }),
    );
  });

  test('a name that looks like an escape is distinguished from one', () => {
    const encoded = ['a/b', 'a%2Fb', 'a%252Fb'].map((name) => encodeScopeName({ kind: 'tenants', name }));
    expect(new Set(encoded).size).toBe(3);
  });

  test('every one is a document id that Firestore takes', () => {
    fc.assert(
      fc.property(scopes, (scope) => {
        const id = encodeScopeName(scope);
        expect(id).not.toMatch(/\/|^\.{1,2}$|^__.*__$/u);
      }),
    );
    const longest = encodeScopeName({ kind: 'tenants', name: '%'.repeat(160) });
    expect(Buffer.byteLength(longest)).toBeLessThan(1_500);
  });

  test('ordinary names stay readable', () => {
    expect(headPath({ kind: 'tenants', name: 'acme.eu' })).toBe('tenants/t-acme.eu');
    expect(headPath({ kind: 'spaces', name: 'default' })).toBe('spaces/d-default');
    expect(headPath({ kind: 'system', name: 'migrations' })).toBe('system/s-migrations');
  });
});

test('a record’s path takes no words of a caller', () => {
  const scope: Scope = { kind: 'tenants', name: 'acme' };
  const id = 'a'.repeat(32);
  expect(recordPath(scope, '0', { collection: 'documents', id })).toBe(
    `tenants/t-acme/generations/0/documents/${id}`,
  );
  expect(() => recordPath(scope, '0', { collection: 'a/b', id })).toThrow(TypeError);
  expect(() => recordPath(scope, '0', { collection: 'documents', id: 'a/b' })).toThrow(TypeError);
  expect(() => recordPath(scope, '0', { collection: 'documents', id: 'a~1' })).toThrow(TypeError);
});

test('names of map members survive, reserved ones too', () => {
  const member = fc.oneof(fc.constantFrom('', '__x__', '~', '~~', '__', 'a.b', '`'), fc.string());
  fc.assert(
    fc.property(fc.dictionary(member, fc.string(), { noNullPrototype: true }), (map) => {
      const encoded = encodeNames(map);
      for (const name of Object.keys(encoded)) expect(name).not.toMatch(/^$|^__.*__$/su);
      expect(decodeNames(encoded)).toEqual(map);
    }),
  );
});

test('short bodies are readable, long ones compressed, and all are read back', () => {
  expect(encodeText('{"a":1}')).toBe('{"a":1}');
  const long = JSON.stringify('grüße 😀 '.repeat(10_000));
  const encoded = encodeText(long);
  expect(encoded).toBeInstanceOf(Uint8Array);
  expect(encoded.length).toBeLessThan(long.length / 10);
  expect(decodeText(encoded)).toBe(long);
  expect(() => decodeText(new Uint8Array([255, 255, 255]))).toThrow(
    expect.objectContaining({ failure: 'corrupt' }),
  );
});

test('a continuation is distinguished from a record', () => {
  expect(parseDocumentId('abc')).toEqual({ id: 'abc', number: 0 });
  expect(parseDocumentId('abc~12')).toEqual({ id: 'abc', number: 12 });
});
