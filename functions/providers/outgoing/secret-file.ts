import { ProviderFailure } from '../failure.ts';

const SECRET = /^[\x21-\x7e]{1,4096}$/;

/**
 * The secret in a file, read for each call, so that a new secret is used from the next call on. Throws a
 * `ProviderFailure` without the file's content.
 */
export function secretFile(read: () => Promise<string>): () => Promise<string> {
  return async () => {
    const text = await read().then(
      (content) => content.trim(),
      () => '',
    );
    if (SECRET.test(text)) return text;
    const message = 'The file with the key of the provider cannot be read, or holds no key.';
    throw new ProviderFailure('configuration', 'secret_missing', message);
  };
}
