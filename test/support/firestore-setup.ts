import type { TestProject } from 'vitest/node';
import { EmulatorNotFound, startFirestoreEmulator } from '../../emulator/firestore.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the run's Firestore emulator, or the reason why it is missing. */
    readonly firestore: { readonly host: string } | { readonly reason: string };
  }
}

/** One emulator for the whole run. Without one the tests that need it are left out, except where CI counts on them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const emulator = await startFirestoreEmulator();
    project.provide('firestore', { host: emulator.host });
    return () => emulator.stop();
  } catch (error) {
    if (!(error instanceof EmulatorNotFound) || process.env['CI'] === 'true') throw error;
    project.provide('firestore', { reason: error.message });
    return () => Promise.resolve();
  }
}
