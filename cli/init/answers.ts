import type { Provider } from '../../functions/config/settings/storage.ts';

/** Everything that `svc init` must know. */
export interface InitAnswers {
  /** The folder of the files, as typed. */
  readonly out: string;
  /** The folder as an absolute path: the service resolves a path of its settings against the folder that it starts in. */
  readonly folder: string;
  readonly database: Provider;
  readonly dataDirectory: string | null;
  readonly connectionString: string | null;
  readonly tenants: readonly string[];
  readonly product: string;
  readonly handlers: readonly string[];
  readonly identity: IdentityAnswers;
  readonly audience: string;
  readonly principals: Principals;
  readonly workerId: string;
  readonly apiKey: boolean;
  readonly port: number | null;
  /** Trusted proxies in front. */
  readonly proxies: number;
  /** The service runs as functions. */
  readonly functions: boolean;
  /** Principal of scheduled maintenance, where the settings of a function must name it. */
  readonly scheduler: string | null;
  readonly cloud: CloudAnswers | null;
}

/** The principals that get grants; `null` for none. */
export interface Principals {
  readonly app: string;
  readonly worker: string | null;
  readonly operator: string | null;
}

/** Who issues the tokens of callers. */
export type IdentityAnswers =
  /** The operator, with a key that `svc init` makes. */
  | { readonly kind: 'own' }
  | { readonly kind: 'google' }
  | { readonly kind: 'issuer'; readonly issuer: string; readonly keySetUrl: string };

/** The database, queue and worker of functions, for a deployment that gets its environment from here. */
export interface CloudAnswers {
  readonly project: string;
  readonly location: string;
  readonly queue: string;
  readonly workerUrl: string;
  readonly serviceAccount: string;
  readonly bucket: string | null;
}

/** The issuer in tokens that `svc identity-token` signs; the key in the file decides, not this name. */
export const ownIssuer = 'svc-identity';

export const fileNames = {
  settings: 'svcsettings.json',
  schema: 'svcsettings.schema.json',
  environment: 'svc.env',
  keySet: 'identity-keys.json',
  signingKey: 'identity-key.pem',
  apiKeyHashes: 'api-keys.json',
  apiKey: 'api-key.txt',
} as const;
