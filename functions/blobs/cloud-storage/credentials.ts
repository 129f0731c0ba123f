import { lazy } from '../../kernel/lazy.ts';
import { libraryFetch } from '../../kernel/library-fetch.ts';
import type { OutgoingHttp } from '../../kernel/world.ts';

/** The headers that authenticate the service; a token is kept until shortly before it expires. */
export type Credentials = () => Promise<Headers>;

const scope = 'https://www.googleapis.com/auth/devstorage.read_write';

/** Application Default Credentials, searched for at the first call: https://cloud.google.com/docs/authentication. */
export function applicationDefault(http: OutgoingHttp): Credentials {
  const opened = lazy(
    () => open(http),
    () => Promise.resolve(),
  );
  return async () => (await opened.get())();
}

async function open(http: OutgoingHttp): Promise<Credentials> {
  const { GoogleAuth } = await import('./auth-library.ts');
  const auth = new GoogleAuth({
    scopes: scope,
    clientOptions: { transporterOptions: { fetchImplementation: libraryFetch(http) } },
  });
  return () => auth.getRequestHeaders();
}
