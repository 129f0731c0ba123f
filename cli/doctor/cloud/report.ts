import { machine } from '../../../functions/compose/machine.ts';
import { inputOf } from '../../../functions/config/machine.ts';
import { exitCodes, ToolError, warn } from '../../output.ts';
import { processInputs } from '../../remote/inputs.ts';
import type { Check } from '../check.ts';
import { cloudChecks } from './checks.ts';
import { credentialsOf } from './credentials.ts';
import { type Deployment, readDeployment } from './deployment.ts';
import { endpointOf, GoogleApis } from './google.ts';
import type { CloudOptions } from './options.ts';

const fileBytesMax = 4 * 1024 ** 2;

/** Runs all checks of `svc doctor --cloud`. */
export async function cloudReport(options: CloudOptions): Promise<Check[]> {
  const { http } = machine;
  const { env } = inputOf('functions', []);
  const deployment = await deploymentIn(options);
  const projectId = options.project ?? deployment?.projectId;
  if (projectId === undefined)
    throw new ToolError(
      'Name the project: --deployment FILE, or --project ID before the first deployment',
      exitCodes.usage,
    );
  if (deployment !== null && deployment.projectId !== projectId) {
    const message = `${options.deployment} is a deployment in the project ${deployment.projectId}, not in ${projectId}`;
    throw new ToolError(message, exitCodes.usage);
  }
  const accessToken = env['GOOGLE_OAUTH_ACCESS_TOKEN'];
  const apis = new GoogleApis({
    endpoint: endpointOf(options.googleApis),
    http,
    timeoutMs: options.timeout * 1000,
    credentials: credentialsOf({ projectId, accessToken, http }),
    log: options.verbose === true ? warn : () => undefined,
  });
  return cloudChecks(apis, { projectId: projectOf(projectId), deployment });
}

async function deploymentIn({ deployment: file }: CloudOptions): Promise<Deployment | null> {
  if (file === undefined) return null;
  const text = (await processInputs().read(file, fileBytesMax)).toString('utf8');
  return readDeployment(text, file);
}

/** A project id is a part of addresses. */
function projectOf(text: string): string {
  if (/^([a-z][a-z0-9.-]{0,61}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(text)) return text;
  throw new ToolError(`--project ${text} is not a project id, such as my-project`, exitCodes.usage);
}
