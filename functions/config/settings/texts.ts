import { secretText, text, unquotedText } from '../kinds.ts';

/** Kinds of text that several settings share. */

export const anyText = text('some text', /^[^\p{Cc}]{1,1000}$/u);
export const headerName = text('the name of a header', /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/);
export const hostName = text('an address or a host name', /^[0-9A-Za-z.:_-]{1,253}$/);
export const identifier = text('an identifier of 1 to 160 characters', /^[^\p{Cc}]{1,160}$/u);
// A caller may write a password into these by mistake, so a refusal does not quote them.
export const tokenIssuer = unquotedText(
  'the issuer as tokens name it, such as https://issuer.example.com',
  /^[\x21-\x7e]{1,512}$/,
);
export const url = unquotedText(
  'an address such as https://issuer.example.com/keys',
  /^https?:\/\/[^\s@#\\]{1,1000}$/,
);
export const baseAddress = unquotedText(
  'an address such as https://models.example.com/v1, without a user, a query and a fragment',
  /^https?:\/\/[^\s@#?\\]{1,1000}$/,
);
export const keyHash = unquotedText('sha256: and 64 lower-case hexadecimal digits', /^sha256:[0-9a-f]{64}$/);
export const origin = unquotedText(
  'an origin such as https://app.example.com',
  /^https?:\/\/[^\s/?#@\\*]{1,253}$/,
);
export const projectName = text('a project id', /^[a-z0-9][a-z0-9.:-]{2,99}$/);
export const locationName = text('a location such as europe-west1', /^[a-z][a-z0-9-]{0,62}$/);
export const queueName = text('the id of a queue', /^[A-Za-z0-9-]{1,100}$/);
export const mailbox = text('the address of a service account', /^[^\s@\p{Cc}]{1,100}@[^\s@\p{Cc}]{1,200}$/u);
export const emulatorHost = unquotedText('host:port', /^[0-9A-Za-z.:[\]_-]{1,253}:\d{1,5}$/);
export const apiKey = secretText('1 to 512 visible ASCII characters', /^[\x21-\x7e]{1,512}$/);
export const providerId = text(
  'an id of lower-case letters, digits, - and .',
  /^[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/,
);
