/** The bundle contains only the exports of the package that this module names. */
export { compactVerify } from 'jose';
