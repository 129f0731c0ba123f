import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkConfiguration } from './check.ts';

const section = 'Artifacts:ExternalContext';
const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
});
const key = (index: number, KeyId = 'one') => ({
  [`Keys:${index}:KeyId`]: KeyId,
  [`Keys:${index}:X`]: x,
  [`Keys:${index}:Y`]: y,
});
const whole = { Issuer: 'https://context.test', Audience: 'svc', Required: 'true', ...key(0) };

function faults(given: Readonly<Record<string, string>>): string[] {
  const argv = Object.entries(given).map(([name, value]) => `--${section}:${name}=${value}`);
  const input = { host: 'embedded', env: {}, argv, readFile: () => undefined } as const;
  return checkConfiguration(input)
    .findings.filter(({ severity }) => severity === 'fault')
    .map((found) => `${found.key} ${found.message}`);
}

describe('proofs of an external context', () => {
  test.each<[string, Readonly<Record<string, string>>]>([
    ['whole', whole],
    ['whole with two keys', { ...whole, ...key(1, 'two') }],
    ['absent', {}],
    ['not required', { Required: 'false' }],
  ])('settings that are %s have no fault', (_, given) => {
    expect(faults(given)).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['required without keys', { Required: 'true' }, `${section}:Keys is missing`],
    ['without an issuer', { Audience: 'svc', ...key(0) }, `${section}:Issuer is missing`],
    ['without an audience', { Issuer: 'https://context.test', ...key(0) }, `${section}:Audience is missing`],
    ['with one key twice', { ...whole, ...key(1) }, `${section}:Keys:1 has the KeyId of another key`],
    ['with half a key', { ...whole, 'Keys:0:Y': '' }, `${section}:Keys:0`],
    ['with no point', { ...whole, 'Keys:0:Y': x }, `${section}:Keys:0 has an X and a Y that are no point`],
    ['with a private key', { ...whole, 'Keys:0:X': 'too-short' }, `${section}:Keys:0:X must be 32 bytes`],
  ])('settings %s are refused', (_, given, words) => {
    expect(
      faults(given).some((fault) => fault.startsWith(words)),
      faults(given).join(),
    ).toBe(true);
  });
});
