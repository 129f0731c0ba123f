/** A dynamic import of a CommonJS package in a bundle has only `default`; of this module it has the name. */
export { OAuth2Client } from 'google-auth-library';
