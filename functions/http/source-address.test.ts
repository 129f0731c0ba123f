import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalizeAddress, sourceAddress } from './source-address.ts';

test('without trusted proxies the address of the socket counts, and forwarding headers do not', () => {
  fc.assert(
    fc.property(fc.string(), (forwarded) => {
      expect(sourceAddress('198.51.100.7', forwarded, 0)).toBe('198.51.100.7');
    }),
  );
});

test('I02: with one trusted proxy only the last entry counts', () => {
  fc.assert(
    fc.property(fc.array(fc.ipV4(), { maxLength: 5 }), (invented) => {
      const forwarded = [...invented, '203.0.113.9'].join(', ');
      expect(sourceAddress('10.0.0.1', forwarded, 1)).toBe('203.0.113.9');
    }),
  );
});

test.each([
  ['the second from the right', '6.6.6.6, 203.0.113.9, 10.1.1.1', 2, '203.0.113.9'],
  ['fewer entries than proxies', '6.6.6.6', 2, '10.0.0.1'],
  ['no address', 'unknown', 1, '10.0.0.1'],
  ['an empty field', '', 1, '10.0.0.1'],
  ['a port', '203.0.113.9:4711', 1, '203.0.113.9'],
  ['a port behind brackets', '[2001:db8::1]:4711', 1, '2001:db8:0:0::/64'],
  ['no field', undefined, 1, '10.0.0.1'],
])('%s', (_what, forwarded, hops, address) => {
  expect(sourceAddress('10.0.0.1', forwarded, hops)).toBe(address);
});

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:0102:0304', '1.2.3.4'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::ffff', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', null],
  ['1.2.3', null],
  ['localhost', null],
])('I03: %s is counted as %s', (text, address) => {
  expect(normalizeAddress(text)).toBe(address);
});

test('callers without an address share one partition', () => {
  expect(sourceAddress('', undefined, 0)).toBe('unknown');
});
