import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalHttp } from '../local-http.ts';
import type { CloudProject } from './project.ts';
import { type Answer, answerOf, problem } from './routes.ts';

/**
 * Google's REST APIs for one project on loopback: `http://127.0.0.1:PORT/<host of the API>/<path>`. It answers the calls that
 * the preflight makes, with the shapes and the refusals that Google publishes.
 */
export class GoogleCloudServer implements AsyncDisposable {
  readonly project: CloudProject;
  readonly token = 'ya29.stand-in';
  endpoint = '';
  /** Items of a page. */
  pageSizeMax = 300;
  /** Hosts of APIs that are out of order. */
  readonly failing = new Set<string>();
  /** OAuth's word for why no token is given. */
  tokenRefusal: string | undefined;
  /** Host and path of each call. */
  readonly calls: string[] = [];
  #server: LocalHttp | null = null;

  constructor(project: CloudProject) {
    this.project = project;
  }

  static async start(project: CloudProject): Promise<GoogleCloudServer> {
    const started = new GoogleCloudServer(project);
    started.#server = await LocalHttp.start((...call) => started.#serve(...call));
    started.endpoint = started.#server.url;
    return started;
  }

  /** A credential file of workload identity federation, which asks this server for its tokens. */
  credentialFile(tokenFile: string): string {
    return JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/p',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${this.endpoint}/sts.googleapis.com/v1/token`,
      credential_source: { file: tokenFile },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  #serve(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    this.calls.push(`${method} ${url}`);
    const { status, json } = this.#answer(request, method, new URL(url, this.endpoint), body.toString());
    response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
    response.end(`${JSON.stringify(json, null, 2)}\n`);
  }

  #answer(request: IncomingMessage, method: string, url: URL, body: string): Answer {
    if (url.pathname === '/sts.googleapis.com/v1/token') return this.#grant();
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      return problem(
        401,
        'UNAUTHENTICATED',
        'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
      );
    }
    if (this.failing.has(url.pathname.split('/')[1] ?? ''))
      return problem(503, 'UNAVAILABLE', 'The service is currently unavailable.');
    const json = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    return answerOf(this.project, { method, url, json, pageSizeMax: this.pageSizeMax });
  }

  /** RFC 8693, and RFC 6749 for the refusal. */
  #grant(): Answer {
    const error = this.tokenRefusal;
    if (error !== undefined)
      return { status: 400, json: { error, error_description: 'The subject token has expired.' } };
    const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
    return {
      status: 200,
      json: { access_token: this.token, issued_token_type, token_type: 'Bearer', expires_in: 3600 },
    };
  }
}
