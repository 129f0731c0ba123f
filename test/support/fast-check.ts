import * as fc from 'fast-check';
import { seedOf } from './effort.ts';

fc.configureGlobal({ seed: seedOf('properties') });

export * from 'fast-check';
export { default } from 'fast-check';
