import { lazy } from '../../kernel/lazy.ts';
import { libraryFetch } from '../../kernel/library-fetch.ts';
import type { OutgoingHttp } from '../../kernel/world.ts';
import { ProviderFailure } from '../failure.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/**
 * The header fields that authenticate the service: Application Default Credentials, searched for at the first call
 * (https://cloud.google.com/docs/authentication). A token is kept until shortly before it expires. Throws a
 * `ProviderFailure`.
 */
export function googleCredentials(http: OutgoingHttp): () => Promise<Headers> {
  const opened = lazy(
    () => open(http),
    () => Promise.resolve(),
  );
  return async () => {
    try {
      return await (await opened.get())();
    } catch {
      const message = 'The service has no credentials for the provider.';
      throw new ProviderFailure('auth', 'credentials_missing', message);
    }
  };
}

async function open(http: OutgoingHttp): Promise<() => Promise<Headers>> {
  const { GoogleAuth } = await import('./auth-library.ts');
  const auth = new GoogleAuth({
    scopes: SCOPE,
    clientOptions: { transporterOptions: { fetchImplementation: libraryFetch(http) } },
  });
  return () => auth.getRequestHeaders();
}
