/** Stands where the generated files look for it. */
export * from '../../../contracts/validator.ts';
