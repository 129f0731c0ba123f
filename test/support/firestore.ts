import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';

const provided = inject('firestore');

/** Why tests against Firestore are left out of this run; `undefined` when an emulator answers. */
export const firestoreMissing = 'reason' in provided ? provided.reason : undefined;

export function firestoreHost(): string {
  if ('reason' in provided) throw new Error(provided.reason);
  return provided.host;
}

/** Projects of an emulator do not see each other, so a file with a project of its own needs no clearing. */
export function firestoreProject(): string {
  return `demo-${randomBytes(8).toString('hex')}`;
}

export function firestoreOptions(projectId = firestoreProject()) {
  return {
    projectId,
    emulatorHost: firestoreHost(),
    ...machine,
  };
}
