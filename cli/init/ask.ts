import { resolve } from 'node:path';
import { exitCodes, ToolError } from '../output.ts';
import type { CloudAnswers, IdentityAnswers, InitAnswers, Principals } from './answers.ts';
import type { InitOptions } from './options.ts';

/** Asks one question; `null` where no person can answer. An empty answer means `fallback`. */
export type Ask = ((question: string, fallback: string) => Promise<string>) | null;

export interface Answering {
  readonly options: InitOptions;
  readonly ask: Ask;
  readonly readFile: (path: string) => string;
}

/** The answers of the command line, and of a person for what it leaves open. Lists every missing option at once. */
export async function answersFrom(answering: Answering): Promise<InitAnswers> {
  const { options, readFile } = answering;
  const answers = new Asked(answering);
  const cloud = options.cloud === true;
  const database = options.database ?? (cloud ? 'firestore' : await answers.database());
  const tenants = options.tenant ?? words(await answers.needed('--tenant', 'Tenants, separated by spaces'));
  const product = options.product ?? (await answers.needed('--product', 'Product whose runs are started'));
  const handlers = options.handler ?? words(await answers.open('Handlers of external workers, if any', ''));
  const identity = await identityOf(answers, options, cloud);
  const own = identity.kind === 'own';
  const audience =
    options.audience ??
    (own
      ? await answers.open('Audience of tokens', 'svc')
      : await answers.needed('--audience', 'Audience of tokens, such as https://svc.example.com'));
  const principals = await principalsOf(answers, options, own);
  const given = cloud ? await cloudOf(answers, options) : null;
  answers.refuseMissing();
  const file = options.connectionStringFile;
  return {
    out: options.out,
    folder: resolve(options.out),
    database,
    dataDirectory: options.dataDir ?? null,
    connectionString: file === undefined ? null : readFile(file).trim(),
    tenants,
    product,
    handlers,
    identity,
    audience,
    principals,
    workerId: options.workerId,
    apiKey: options.apiKey === true,
    port: options.port ?? null,
    proxies: options.proxies,
    functions: cloud,
    scheduler: options.schedulerPrincipal ?? null,
    cloud: given,
  };
}

class Asked {
  readonly #ask: Ask;
  readonly #missing: string[] = [];

  constructor({ ask }: Answering) {
    this.#ask = ask;
  }

  /** A question with a default. */
  async open(question: string, fallback: string): Promise<string> {
    return this.#ask === null ? fallback : (await this.#ask(question, fallback)).trim() || fallback;
  }

  /** A question without a default: the option is missing where no person answers. */
  async needed(option: string, question: string): Promise<string> {
    const answer = await this.open(question, '');
    if (answer === '') this.#missing.push(option);
    return answer;
  }

  async database(): Promise<InitAnswers['database']> {
    const answer = await this.open('Database: sqlite, postgresql, mysql or firestore', 'sqlite');
    const known = (['sqlite', 'postgresql', 'mysql', 'firestore'] as const).find((name) => name === answer);
    if (known === undefined) throw new ToolError(`There is no database ${answer}`, exitCodes.usage);
    return known;
  }

  refuseMissing(): void {
    if (this.#missing.length === 0) return;
    throw new ToolError(`Missing: ${this.#missing.join(', ')}`, exitCodes.usage);
  }
}

async function identityOf(answers: Asked, options: InitOptions, cloud: boolean): Promise<IdentityAnswers> {
  const question = 'Issuer of identity tokens: own (a key made here), google, or the address of another';
  const issuer = options.issuer ?? (cloud ? 'google' : await answers.open(question, 'own'));
  if (issuer === 'own' || issuer === 'google') return { kind: issuer };
  const url = options.keySetUrl ?? (await answers.needed('--key-set-url', 'Address of its keys'));
  return { kind: 'issuer', issuer, keySetUrl: url };
}

/** With a key of our own the names are ours to choose; another issuer gives the names. */
async function principalsOf(answers: Asked, options: InitOptions, own: boolean): Promise<Principals> {
  if (own) {
    return {
      app: options.principal ?? 'app',
      worker: options.workerPrincipal ?? 'worker',
      operator: options.operatorPrincipal ?? 'operator',
    };
  }
  const asked = async (option: string | undefined, of: string) =>
    option ?? ((await answers.open(`Principal of the ${of}, if any (an e-mail address)`, '')) || null);
  return {
    app:
      options.principal ??
      (await answers.needed('--principal', 'Principal of the application (an e-mail address)')),
    worker: await asked(options.workerPrincipal, 'workers'),
    operator: await asked(options.operatorPrincipal, 'operators'),
  };
}

/** Without a project the deployment itself sets the environment, as infra/ does; a part of the values is a mistake. */
async function cloudOf(answers: Asked, options: InitOptions): Promise<CloudAnswers | null> {
  const { queue, location, workerUrl, serviceAccount } = options;
  const some = [queue, location, workerUrl, serviceAccount].some((value) => value !== undefined);
  const question = 'Project, where Terraform does not set the environment';
  const project =
    options.project ??
    (some ? await answers.needed('--project', 'Project') : await answers.open(question, ''));
  if (project === '' && !some) return null;
  return {
    project,
    location: location ?? (await answers.needed('--location', 'Location of the queue')),
    queue: queue ?? (await answers.needed('--queue', 'Queue')),
    workerUrl: workerUrl ?? (await answers.needed('--worker-url', 'Address of the hosted worker')),
    serviceAccount:
      serviceAccount ?? (await answers.needed('--service-account', 'Account of the deliveries')),
    bucket: options.bucket ?? null,
  };
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
