import { type Check, failed, warning } from '../check.ts';
import { area, type Cloud, count, each, looking, word } from './cloud.ts';
import type { Deployment, ReadResource } from './deployment.ts';
import { memberOf, membersOf, type Policy, policyVersion } from './iam.ts';

/** Checks secrets and buckets: they exist, have the right content, and the functions may use them. */

export function secretChecks(cloud: Cloud, { secrets }: Deployment): Promise<Check[]> {
  const message = `${count(secrets.length, 'secret')} can be read by the functions that need it.`;
  return area(cloud, { id: 'cloud-secrets', message }, (own) =>
    each(secrets, (secret) => secretFaults(own, secret)),
  );
}

function secretFaults(cloud: Cloud, { name, role, accounts }: ReadResource): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const path = `secretmanager.googleapis.com/v1/projects/${projectId}/secrets/${name}`;
  const project = `--project=${word(projectId)}`;
  const add = `gcloud secrets versions add ${word(name)} --data-file=- ${project}`;
  return looking(cloud, `secret ${name}`, async () => {
    if ((await apis.get(path)) === undefined)
      return [
        failed(
          'cloud-secrets',
          `There is no secret ${name}.`,
          `gcloud secrets create ${word(name)} ${project}`,
        ),
      ];
    const [version, policy] = await Promise.all([
      apis.get<{ state?: string; name?: string }>(`${path}/versions/latest`),
      apis.get<Policy>(`${path}:getIamPolicy?options.requestedPolicyVersion=${policyVersion}`),
    ]);
    const faults: Check[] = [];
    if (version === undefined)
      faults.push(
        failed('cloud-secrets', `The secret ${name} has no version: functions with it do not start.`, add),
      );
    else if (version.state !== 'ENABLED') {
      const message = `The latest version of the secret ${name} is ${version.state}: functions with it do not start.`;
      faults.push(failed('cloud-secrets', message, add));
    }
    const command = `gcloud secrets add-iam-policy-binding ${word(name)} ${project}`;
    return [
      ...faults,
      ...accountFaults('cloud-secrets', `the secret ${name}`, { policy, role, accounts, command }),
    ];
  });
}

interface Bucket {
  readonly iamConfiguration?: {
    readonly publicAccessPrevention?: string;
    readonly uniformBucketLevelAccess?: { readonly enabled?: boolean };
  };
}

export function bucketChecks(cloud: Cloud, { buckets, location }: Deployment): Promise<Check[]> {
  const message = `${count(buckets.length, 'bucket')} can be used by the functions, and are closed to the public.`;
  return area(cloud, { id: 'cloud-buckets', message }, (own) =>
    each(buckets, (bucket) => bucketFaults(own, bucket, location)),
  );
}

function bucketFaults(cloud: Cloud, bucket: ReadResource, location: string): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const { name, role, accounts } = bucket;
  const path = `storage.googleapis.com/storage/v1/b/${name}`;
  const address = word(`gs://${name}`);
  return looking(cloud, `bucket ${name}`, async () => {
    const found = await apis.get<Bucket>(path);
    if (found === undefined) {
      const remedy = `gcloud storage buckets create ${address} --location=${word(location)} --uniform-bucket-level-access --public-access-prevention --project=${word(projectId)}`;
      return [failed('cloud-buckets', `There is no bucket ${name}.`, remedy)];
    }
    const policy = await apis.get<Policy>(`${path}/iam?optionsRequestedPolicyVersion=${policyVersion}`);
    const faults: Check[] = [];
    const { publicAccessPrevention, uniformBucketLevelAccess } = found.iamConfiguration ?? {};
    if (publicAccessPrevention !== 'enforced' || uniformBucketLevelAccess?.enabled !== true) {
      const remedy = `gcloud storage buckets update ${address} --uniform-bucket-level-access --public-access-prevention`;
      faults.push(
        warning('cloud-buckets', `Single objects of the bucket ${name} could be made public.`, remedy),
      );
    }
    const command = `gcloud storage buckets add-iam-policy-binding ${address}`;
    return [
      ...faults,
      ...accountFaults('cloud-buckets', `the bucket ${name}`, { policy, role, accounts, command }),
    ];
  });
}

interface Granting {
  readonly policy: Policy | undefined;
  readonly role: string;
  readonly accounts: readonly string[];
  readonly command: string;
}

function accountFaults(id: string, what: string, { policy, role, accounts, command }: Granting): Check[] {
  const members = membersOf(policy, role);
  return accounts
    .filter((email) => !members.includes(memberOf(email)))
    .map((email) =>
      failed(
        id,
        `${email} lacks ${role} on ${what}.`,
        `${command} --member=${memberOf(email)} --role=${role}`,
      ),
    );
}
