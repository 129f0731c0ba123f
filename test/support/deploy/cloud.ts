import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { OidcIssuer } from '../../../emulator/oidc-issuer.ts';
import { serviceCollections } from '../../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../../functions/store/firestore/indexes.ts';
import { exampleDeployment, exampleOutput, functionNames } from '../google-cloud/deployment.ts';
import { type CloudProject, deployInto, emptyProject } from '../google-cloud/project.ts';
import { LocalHttp } from '../local-http.ts';
import { runGcloud } from './gcloud.ts';
import type { Platform } from './platform.ts';
import { publicAddress } from './reader.ts';
import { type Command, type Plan, refused, type Said, Terraform } from './terraform.ts';

/** The platform that the commands of the page use: a project, its functions, and the programs `gcloud`, `terraform` and `npm`. */

export interface DeployCloudOptions {
  readonly projectId: string;
  readonly platform: Platform;
  readonly issuer: OidcIssuer;
  /** `npm run build` in the folder. */
  readonly build: (cwd: string) => Promise<void>;
}

export class DeployCloud implements AsyncDisposable {
  readonly project: CloudProject;
  /** Every command line, in its order. */
  readonly commands: string[] = [];
  /** The bundles that were deployed, by hash. */
  readonly deployed: string[] = [];
  readonly #options: DeployCloudOptions;
  readonly #terraform: Terraform;
  #isProtected = true;
  #isDeployed = false;
  #server: LocalHttp | null = null;

  private constructor(options: DeployCloudOptions) {
    this.#options = options;
    this.project = emptyProject(options.projectId);
    // A new project: Terraform enables the rest.
    this.project.enabled.clear();
    this.project.enabled.add('cloudbilling.googleapis.com');
    this.#terraform = new Terraform({
      apply: (plan) => this.#apply(plan),
      output: () => (this.#isDeployed ? this.#output() : undefined),
    });
  }

  static async start(options: DeployCloudOptions): Promise<DeployCloud> {
    const cloud = new DeployCloud(options);
    cloud.#server = await LocalHttp.start((_, body, response) => cloud.#serve(body, response));
    return cloud;
  }

  get address(): string {
    return this.#server?.url ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  async #serve(body: Buffer, response: ServerResponse): Promise<void> {
    const command = JSON.parse(body.toString()) as Command & { readonly program: string };
    this.commands.push([command.program, ...command.args].join(' '));
    const said = await this.#run(command.program, command).catch((error: unknown) => refused(String(error)));
    const { stdout = '', stderr = '', code = 0 } = said;
    response.end(JSON.stringify({ stdout, stderr, code }));
  }

  async #run(program: string, command: Command): Promise<Said> {
    if (program === 'terraform') return this.#terraform.run(command);
    if (program === 'gcloud') return runGcloud(this.project, this.#options.issuer, command.args);
    const line = command.args.join(' ');
    if (line === 'install') return {};
    if (line !== 'run build') return refused(`the stand-in knows no npm ${line}`);
    await this.#options.build(command.cwd);
    return { stdout: 'Ready to deploy: dist/functions.zip\n' };
  }

  async #apply({ destroy, variables, folder }: Plan): Promise<Said> {
    if (destroy) return this.#destroy();
    const { projectId, platform } = this.#options;
    const { resources } = this.project;
    if (!resources.has(`b/${projectId}-terraform`)) return refused('the bucket of the state does not exist');
    this.#isProtected = variables['deletion_protection'] !== 'false';
    const bundle = join(folder, variables['bundle'] ?? '');
    const hash = createHash('sha256').update(readFileSync(bundle)).digest('hex');
    if (!this.#isDeployed) this.#create();
    if (this.deployed.at(-1) !== hash) {
      const settings = readFileSync(join(folder, 'svcsettings.json'), 'utf8');
      await platform.roll({
        bundle,
        functions: functionNames,
        environment: this.#environment(),
        settings: (name) =>
          ['reconcile', 'prune'].includes(name) ? maintenance(settings, this.#output()) : settings,
      });
      this.deployed.push(hash);
    }
    this.#isDeployed = true;
    return { stdout: 'Apply complete!\n' };
  }

  #create(): void {
    const { projectId } = this.#options;
    for (const name of emptyProject(projectId).enabled) this.project.enabled.add(name);
    deployInto(this.project, exampleDeployment(projectId), firestoreIndexes(serviceCollections));
    for (const [name] of Object.entries(this.#output().deployment.buckets)) this.project.objects.add(name);
  }

  async #destroy(): Promise<Said> {
    const { platform, projectId } = this.#options;
    if (this.#isProtected) return refused('Instance cannot be destroyed: deletion_policy is PREVENT.');
    const [full] = this.project.objects;
    if (full !== undefined)
      return refused(
        `Error trying to delete bucket ${full} containing objects without force_destroy set to true`,
      );
    await platform.stop();
    // Terraform does not remove the things that the page made by hand.
    for (const [name, found] of this.project.resources)
      if (name !== `b/${projectId}-terraform` && found['tokenCreators'] === undefined)
        this.project.resources.delete(name);
    this.#isDeployed = false;
    return { stdout: 'Destroy complete!\n' };
  }

  #output() {
    return {
      base_url: publicAddress,
      address: '203.0.113.7',
      deployment: exampleOutput(this.#options.projectId),
    };
  }

  /** The names are those of `environment` in `infra/functions.tf`. */
  #environment(): Record<string, string> {
    const { projectId, platform } = this.#options;
    const worker = platform.router.url;
    return {
      SVC_SETTINGS: '',
      SVC_ENVIRONMENT: 'Production',
      NODE_ENV: 'production',
      Firestore__ProjectId: projectId,
      Firestore__DatabaseId: '(default)',
      Server__TrustedProxyHops: '1',
      ExecutionRuntime__Adapter: 'google',
      ExecutionRuntime__ArtifactObjectContainer: `${projectId}-svc-artifacts`,
      ExecutionRuntime__Google__ProjectId: projectId,
      ExecutionRuntime__Google__LocationId: 'europe-west1',
      ExecutionRuntime__Google__QueueId: 'svc-runs',
      ExecutionRuntime__Google__WorkerUrl: `${worker}/tasks/execution`,
      ExecutionRuntime__Google__OidcAudience: worker,
      ExecutionRuntime__Google__ServiceAccountEmail: `svc-tasks-runs@${projectId}.iam.gserviceaccount.com`,
      HostedWorker__TaskAuthentication__AllowedAudiences__0: worker,
    };
  }

  get environmentNames(): string[] {
    return Object.keys(this.#environment()).sort();
  }
}

/** As `infra/secrets.tf` makes the settings of the scheduled functions. */
function maintenance(
  text: string,
  { deployment }: { readonly deployment: ReturnType<typeof exampleOutput> },
): string {
  const settings = JSON.parse(text) as {
    Server: { ExecutionAccess: object };
    ExecutionRuntime: { ProductPolicies: { ProductId: string }[] };
  };
  const jobs = Object.values(deployment.jobs);
  const policy = {
    Principal: jobs[0]?.service_account,
    ProductId: settings.ExecutionRuntime.ProductPolicies[0]?.ProductId,
    AllowedOperations: ['maintenance'],
  };
  const ExecutionAccess = {
    ...settings.Server.ExecutionAccess,
    AllowedAudiences: jobs.map(({ audience }) => audience),
    IdentityPolicies: [policy],
  };
  return JSON.stringify({
    ...settings,
    Server: { ...settings.Server, RequireApiKey: false, ApiKeyHashes: [], ExecutionAccess },
  });
}
