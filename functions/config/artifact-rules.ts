import { createPublicKey } from 'node:crypto';
import type { Rule, RuleFault } from './rule.ts';
import type { ContextKeySetting } from './settings/artifacts.ts';
import { table } from './table.ts';

/** Rules of the settings of artifacts. A proof that could not be verified must not seem to be asked for. */

const { contextIssuer, contextAudience, contextKeys, contextRequired } = table.artifacts;

const wholeContext: Rule = ({ artifacts }) => {
  const given = [
    [contextIssuer.key, artifacts.contextIssuer !== null],
    [contextAudience.key, artifacts.contextAudience !== null],
    [contextKeys.key, artifacts.contextKeys.length > 0],
  ] as const;
  const isUsed = artifacts.contextRequired || given.some(([, isGiven]) => isGiven);
  const names = given.map(([key]) => key).join(', ');
  return given
    .filter(([, isGiven]) => isUsed && !isGiven)
    .map(([key]) => ({
      key,
      message: `is missing: proofs need ${names}${artifacts.contextRequired ? `, and ${contextRequired.key} is true` : ''}`,
    }));
};

const contextKeyRules: Rule = ({ artifacts }) => {
  const seen = new Set<string | undefined>();
  return artifacts.contextKeys.flatMap((given, index) => {
    const messages = keyFaults(given);
    if (given.KeyId !== undefined && seen.has(given.KeyId)) messages.push('has the KeyId of another key');
    seen.add(given.KeyId);
    return messages.map((message): RuleFault => ({ key: `${contextKeys.key}:${index}`, message }));
  });
};

function keyFaults(given: Partial<ContextKeySetting>): string[] {
  const { KeyId, X: x, Y: y } = given;
  if (KeyId === undefined || x === undefined || y === undefined) return ['needs KeyId, X and Y'];
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    return [];
  } catch {
    return ['has an X and a Y that are no point of P-256'];
  }
}

export const artifactRules: readonly Rule[] = [wholeContext, contextKeyRules];
