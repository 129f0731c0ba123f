import type { OidcIssuer } from '../../../emulator/oidc-issuer.ts';
import { location } from '../google-cloud/deployment.ts';
import type { CloudProject } from '../google-cloud/project.ts';
import { refused, type Said } from './terraform.ts';

/** The command lines of the Cloud CLI that the page has, and what they change in the project. */

type Run = (project: CloudProject, found: readonly string[], issuer: OidcIssuer) => Promise<Said> | Said;

const commands: readonly (readonly [RegExp, Run])[] = [
  [/^auth application-default login$/, () => ({ stderr: 'Credentials saved to file.\n' })],
  [
    /^auth print-identity-token --impersonate-service-account=(\S+) --audiences=(\S+) --include-email$/,
    async (project, [, email = '', audience = ''], issuer) => {
      const roles = project.resources.get(accountPath(email))?.['tokenCreators'] ?? '';
      if (roles === '')
        return refused(`iam.serviceAccounts.getOpenIdToken denied on ${email} (or it does not exist)`);
      return { stdout: `${await issuer.mint({ email, audience })}\n` };
    },
  ],
  [
    /^iam service-accounts create (\S+) --project=(\S+)$/,
    (project, [, id = '', projectId = '']) => {
      const email = `${id}@${projectId}.iam.gserviceaccount.com`;
      project.resources.set(accountPath(email), { email });
      return {};
    },
  ],
  [
    /^iam service-accounts add-iam-policy-binding (\S+) --project=\S+ --member=(\S+) --role=roles\/iam.serviceAccountTokenCreator$/,
    (project, [, email = '', member = '']) => {
      const account = project.resources.get(accountPath(email));
      return account === undefined
        ? refused('NOT_FOUND')
        : (Object.assign(account, { tokenCreators: member }), {});
    },
  ],
  [
    /^services enable (.+) --project=\S+$/,
    (project, [, names = '']) => {
      for (const name of names.split(' ')) project.enabled.add(name);
      return {};
    },
  ],
  [
    /^storage buckets create gs:\/\/(\S+) --project=\S+ --location=\S+ --uniform-bucket-level-access --public-access-prevention$/,
    (project, [, name = '']) => {
      project.resources.set(`b/${name}`, { name });
      return {};
    },
  ],
  [
    /^storage buckets update gs:\/\/(\S+) --versioning$/,
    (project, [, name = '']) => bucketThere(project, name),
  ],
  [
    /^storage rm (.+) --all-versions --continue-on-error$/,
    (project, [, names = '']) => {
      for (const [, name = ''] of names.matchAll(/gs:\/\/([^/]+)\/\*\*/g)) project.objects.delete(name);
      return {};
    },
  ],
  [
    /^scheduler jobs pause (\S+) --location=\S+ --project=(\S+)$/,
    (project, [, name = '', projectId = '']) => {
      const job = project.resources.get(`projects/${projectId}/locations/${location}/jobs/${name}`);
      return job === undefined ? refused('NOT_FOUND') : (Object.assign(job, { state: 'PAUSED' }), {});
    },
  ],
];

function accountPath(email: string): string {
  const [, projectId = ''] = email.split(/[@.]/);
  return `projects/${projectId}/serviceAccounts/${email}`;
}

function bucketThere({ resources }: CloudProject, name: string): Said {
  return resources.has(`b/${name}`) ? {} : refused(`gs://${name} not found: 404.`);
}

export function runGcloud(
  project: CloudProject,
  issuer: OidcIssuer,
  args: readonly string[],
): Promise<Said> | Said {
  const line = args.join(' ');
  for (const [pattern, run] of commands) {
    const found = pattern.exec(line);
    if (found !== null) return run(project, found, issuer);
  }
  return refused(`the stand-in knows no gcloud ${line}`);
}
