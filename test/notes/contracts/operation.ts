/** Stands where the generated files look for it. */
export * from '../../../contracts/operation.ts';
