import { type Check, failed, warning } from '../check.ts';
import { area, type Cloud, count, each, looking, word } from './cloud.ts';
import type { DeployedJob, DeployedQueue, Deployment } from './deployment.ts';
import { memberOf, membersOf, type Policy } from './iam.ts';

/** The queues that carry runs to workers, and the jobs of the scheduler. */

interface Queue {
  readonly state?: string;
  readonly retryConfig?: { readonly maxAttempts?: number; readonly maxBackoff?: string };
}

/** Backoff above this leaves a run waiting long after its worker is well again. */
const backoffSecondsMax = 600;

export function queueChecks(cloud: Cloud, deployment: Deployment): Promise<Check[]> {
  const { queues } = deployment;
  const message = `${count(queues.length, 'queue')} may deliver: running, unlimited attempts.`;
  return area(cloud, { id: 'cloud-queues', message }, (own) =>
    each(queues, (queue) => queueFaults(own, deployment, queue)),
  );
}

function queueFaults(
  cloud: Cloud,
  { location }: Deployment,
  { name, enqueuers }: DeployedQueue,
): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const path = `cloudtasks.googleapis.com/v2/projects/${projectId}/locations/${location}/queues/${name}`;
  const command = (verb: string) =>
    `gcloud tasks queues ${verb} ${word(name)} --location=${word(location)} --project=${word(projectId)}`;
  return looking(cloud, `queue ${name}`, async () => {
    const queue = await apis.get<Queue>(path);
    if (queue === undefined) {
      const remedy = `${command('create')} --max-attempts=-1 --min-backoff=1s --max-backoff=60s`;
      return [
        failed('cloud-queues', `There is no queue ${name} in ${location}: runs reach no worker.`, remedy),
      ];
    }
    const policy = await apis.post<Policy>(`${path}:getIamPolicy`, {});
    return [...stateFaults(name, queue, command), ...enqueuerFaults(name, policy, enqueuers, command)];
  });
}

function stateFaults(
  name: string,
  { state, retryConfig = {} }: Queue,
  command: (verb: string) => string,
): Check[] {
  const faults: Check[] = [];
  if (state !== 'RUNNING') {
    const message = `The queue ${name} is ${state}: it keeps its tasks and delivers none.`;
    faults.push(failed('cloud-queues', message, command('resume')));
  }
  const { maxAttempts = 100, maxBackoff = '3600s' } = retryConfig;
  if (maxAttempts !== -1) {
    const message = `The queue ${name} gives up after ${maxAttempts} attempts; a run then waits for reconcile.`;
    faults.push(failed('cloud-queues', message, `${command('update')} --max-attempts=-1`));
  }
  if (Number.parseFloat(maxBackoff) > backoffSecondsMax) {
    const message = `The queue ${name} waits up to ${maxBackoff} between attempts.`;
    faults.push(warning('cloud-queues', message, `${command('update')} --max-backoff=60s`));
  }
  return faults;
}

function enqueuerFaults(
  name: string,
  policy: Policy | undefined,
  enqueuers: readonly string[],
  command: (verb: string) => string,
): Check[] {
  const role = 'roles/cloudtasks.enqueuer';
  const members = membersOf(policy, role);
  return enqueuers
    .filter((email) => !members.includes(memberOf(email)))
    .map((email) =>
      failed(
        'cloud-queues',
        `${email} may not add tasks to the queue ${name}.`,
        `${command('add-iam-policy-binding')} --member=${memberOf(email)} --role=${role}`,
      ),
    );
}

interface Job {
  readonly state?: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly httpTarget?: {
    readonly uri?: string;
    readonly oidcToken?: { readonly serviceAccountEmail?: string; readonly audience?: string };
  };
}

export function jobChecks(cloud: Cloud, deployment: Deployment): Promise<Check[]> {
  const { jobs } = deployment;
  const message = `${count(jobs.length, 'job')} of the scheduler run, each with an identity.`;
  return area(cloud, { id: 'cloud-jobs', message }, (own) =>
    each(jobs, (job) => jobFaults(own, deployment, job)),
  );
}

function jobFaults(cloud: Cloud, { location }: Deployment, job: DeployedJob): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const { name } = job;
  const path = `cloudscheduler.googleapis.com/v1/projects/${projectId}/locations/${location}/jobs/${name}`;
  const command = (verb: string) =>
    `gcloud scheduler jobs ${verb} ${word(name)} --location=${word(location)} --project=${word(projectId)}`;
  return looking(cloud, `job ${name}`, async () => {
    const found = await apis.get<Job>(path);
    if (found === undefined) {
      const message = `There is no job ${name} of the scheduler in ${location}.`;
      return [failed('cloud-jobs', message, 'terraform apply')];
    }
    const faults: Check[] = [];
    if (found.state !== 'ENABLED')
      faults.push(failed('cloud-jobs', `The job ${name} is ${found.state}.`, command('resume')));
    const { serviceAccountEmail, audience } = found.httpTarget?.oidcToken ?? {};
    if (serviceAccountEmail !== job.account || audience !== job.audience) {
      const message = `The job ${name} calls as ${serviceAccountEmail ?? 'no account'} for the audience ${audience ?? '(none)'}, not as ${job.account} for ${job.audience}.`;
      const flags = `--oidc-service-account-email=${word(job.account)} --oidc-token-audience=${word(job.audience)}`;
      faults.push(failed('cloud-jobs', message, `${command('update http')} ${flags}`));
    }
    // Absent before the first attempt, and 0 where it went well.
    const { code = 0, message = '' } = found.status ?? {};
    if (code !== 0) {
      const last = `The last attempt of the job ${name} failed (code ${code}${message === '' ? '' : `: ${message}`}).`;
      faults.push(warning('cloud-jobs', last, `Read the log of the function, then: ${command('run')}`));
    }
    return faults;
  });
}
