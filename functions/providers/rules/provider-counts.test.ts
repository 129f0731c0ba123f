import { expect, test } from 'vitest';
import { type CountedProvider, countsOf, limitsCheckOf } from './provider-counts.ts';

const local: CountedProvider = {
  isLocal: true,
  needsCredential: false,
  isEnabled: true,
  isLimited: true,
  capabilities: 6,
  validated: 2,
};
const live: CountedProvider = {
  isLocal: false,
  needsCredential: true,
  isEnabled: true,
  isLimited: false,
  capabilities: 3,
  validated: 0,
};

test('providers are counted with their capabilities; those that may not be called are not callable', () => {
  expect(countsOf([local, live, { ...live, isEnabled: false, validated: 1 }])).toEqual({
    providerCount: 3,
    capabilityCount: 12,
    callableCapabilityCount: 9,
    readyCapabilityCount: 2,
    unvalidatedCapabilityCount: 7,
    networkProviderCount: 2,
    authProviderCount: 2,
  });
});

test('the check of limits names the number of enabled providers without a limit', () => {
  const countOf = (...providers: CountedProvider[]) => limitsCheckOf(providers).details;
  expect(countOf(local, live)).toEqual({ unlimitedProviderCount: 1 });
  expect(countOf(local, { ...live, isLimited: true })).toEqual({ unlimitedProviderCount: 0 });
  expect(countOf({ ...live, isEnabled: false })).toEqual({ unlimitedProviderCount: 0 });
});
