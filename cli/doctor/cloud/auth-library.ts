/** A dynamic import of a CommonJS package in a bundle has only `default`; of this module it has the name. */
export { GoogleAuth } from 'google-auth-library';
