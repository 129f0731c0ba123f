/** A bundle keeps of the package only what this module names. */
export { compactVerify } from 'jose';
