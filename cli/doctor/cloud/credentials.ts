import { libraryFetch } from '../../../functions/kernel/library-fetch.ts';
import type { OutgoingHttp } from '../../../functions/kernel/world.ts';
import { GoogleError, networkReason } from './google.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';

export interface CredentialSources {
  /** Named, so that the library does not ask Google for it. */
  readonly projectId: string;
  /** `GOOGLE_OAUTH_ACCESS_TOKEN`, which Terraform reads too; it wins. */
  readonly accessToken: string | undefined;
  readonly http: OutgoingHttp;
}

/**
 * The headers with a token of this machine's credential: the one that Terraform uses, or Application Default Credentials.
 * The library is loaded with the first call: the tool's other commands start without it.
 */
export function credentialsOf({ projectId, accessToken, http }: CredentialSources): () => Promise<Headers> {
  if (accessToken !== undefined && accessToken !== '') {
    const headers = new Headers({ authorization: `Bearer ${accessToken}` });
    return () => Promise.resolve(headers);
  }
  let opened: Promise<() => Promise<Headers>> | undefined;
  return async () => {
    try {
      return await (await (opened ??= applicationDefault(projectId, http)))();
    } catch (error) {
      throw failureOf(error);
    }
  };
}

async function applicationDefault(projectId: string, http: OutgoingHttp): Promise<() => Promise<Headers>> {
  const { GoogleAuth } = await import('./auth-library.ts');
  const auth = new GoogleAuth({
    projectId,
    scopes: scope,
    clientOptions: { transporterOptions: { fetchImplementation: libraryFetch(http) } },
  });
  return () => auth.getRequestHeaders();
}

/** The library's own texts may quote a token, so they are never shown. */
function failureOf(error: unknown): GoogleError {
  if (error instanceof GoogleError) return error;
  const { message = '', code } = error as { message?: string; code?: string };
  if (/could not load the default credentials/i.test(message)) {
    return new GoogleError('unauthenticated', 'This machine has no credentials of Google Cloud.');
  }
  const status = statusOf(error);
  if (status !== undefined && status < 500) {
    return new GoogleError(
      'unauthenticated',
      `Google gives no token for the credentials (${reasonOf(error, status)}).`,
    );
  }
  if (status !== undefined || isNetwork(error)) {
    return new GoogleError(
      'unreachable',
      `The issuer of tokens does not answer (${status ?? networkReason(error)}).`,
    );
  }
  return new GoogleError(
    'unauthenticated',
    `The credentials cannot be used (${code ?? 'their file has another form'}).`,
  );
}

function statusOf(error: unknown): number | undefined {
  const { status, response } = error as { status?: unknown; response?: { status?: unknown } };
  for (const each of [status, response?.status]) if (typeof each === 'number') return each;
  return undefined;
}

/** OAuth's own word for it, such as `invalid_grant`: expired, or withdrawn. */
function reasonOf(error: unknown, status: number): string {
  const { response, code } = error as { response?: { data?: { error?: unknown } }; code?: unknown };
  for (const each of [response?.data?.error, code])
    if (typeof each === 'string' && /^[a-z_]{1,40}$/.test(each)) return each;
  return `status ${status}`;
}

/** A failure of the network is the cause of a cause. */
function isNetwork(error: unknown): boolean {
  const { code, cause, name } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || /^(E[A-Z_]{3,}|UND_ERR_\w+)$/.test(String(code))) return true;
  return cause !== undefined && isNetwork(cause);
}
