import type { Given } from '../setting.ts';

/** Defaults that depend on where the service runs. */

export const inDevelopment =
  <T>(yes: T, no: T) =>
  (given: Given) =>
    given.environment === 'Development' ? yes : no;
export const onFunctions =
  <T>(yes: T, no: T) =>
  (given: Given) =>
    given.host === 'functions' ? yes : no;
/** `true` on the embedded server in Development. */
export const inLocalDevelopment = ({ environment, host }: Given) =>
  environment === 'Development' && host === 'embedded';
