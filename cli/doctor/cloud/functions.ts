import { type Check, failed, warning } from '../check.ts';
import { area, type Cloud, count, each, looking, word } from './cloud.ts';
import type { DeployedAccount, DeployedFunction, Deployment } from './deployment.ts';
import { memberOf, membersOf, type Policy, policyVersion, rolesOf } from './iam.ts';

/** Checks the functions: their state, their service accounts, and their callers. */

interface CloudFunction {
  readonly state?: string;
  readonly stateMessages?: readonly { readonly message?: string }[];
  readonly serviceConfig?: { readonly serviceAccountEmail?: string };
}

export function functionChecks(cloud: Cloud, deployment: Deployment): Promise<Check[]> {
  const { functions } = deployment;
  const message = `${count(functions.length, 'function')} are active, each as its own account.`;
  return area(cloud, { id: 'cloud-functions', message }, (own) =>
    each(functions, (wanted) => functionFaults(own, deployment, wanted)),
  );
}

function functionFaults(cloud: Cloud, { location }: Deployment, wanted: DeployedFunction): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const { name, service, account } = wanted;
  const path = `cloudfunctions.googleapis.com/v2/projects/${projectId}/locations/${location}/functions/${service}`;
  return looking(cloud, `function ${service}`, async () => {
    const found = await apis.get<CloudFunction>(path);
    if (found === undefined)
      return [failed('cloud-functions', `There is no function ${service} (${name}).`, 'terraform apply')];
    const faults: Check[] = [];
    if (found.state !== 'ACTIVE') {
      const reason = (found.stateMessages ?? []).map(({ message = '' }) => ` ${message}`).join('');
      const logs = `gcloud functions logs read ${word(service)} --region=${word(location)} --project=${word(projectId)}`;
      faults.push(failed('cloud-functions', `The function ${service} is ${found.state}.${reason}`, logs));
    }
    const actual = found.serviceConfig?.serviceAccountEmail ?? '(none)';
    if (actual !== account) {
      const message = `The function ${service} acts as ${actual}, not as ${account}.`;
      const remedy = `gcloud run services update ${word(service)} --service-account=${word(account)} --region=${word(location)} --project=${word(projectId)}`;
      faults.push(failed('cloud-functions', message, remedy));
    }
    return faults;
  });
}

/** Who may call each function: exactly the members that the deployment names. */
export function invokerChecks(cloud: Cloud, deployment: Deployment): Promise<Check[]> {
  const { functions } = deployment;
  const message = `${count(functions.length, 'function')} can be called by the callers named, and by no other.`;
  return area(cloud, { id: 'cloud-invokers', message }, (own) =>
    each(functions, (wanted) => invokerFaults(own, deployment, wanted)),
  );
}

const invoker = 'roles/run.invoker';

function invokerFaults(cloud: Cloud, { location }: Deployment, wanted: DeployedFunction): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const { service, invokers } = wanted;
  const path = `run.googleapis.com/v2/projects/${projectId}/locations/${location}/services/${service}`;
  return looking(cloud, `callers of ${service}`, async () => {
    const query = `options.requestedPolicyVersion=${policyVersion}`;
    const policy = await apis.get<Policy>(`${path}:getIamPolicy?${query}`);
    // A function that is missing has its own line.
    if (policy === undefined) return [];
    const members = membersOf(policy, invoker);
    const command = (verb: string, member: string) =>
      `gcloud run services ${verb}-iam-policy-binding ${word(service)} --member=${member} --role=${invoker} --region=${word(location)} --project=${word(projectId)}`;
    const missing = invokers
      .filter((member) => !members.includes(member))
      .map((member) =>
        failed('cloud-invokers', `${member} may not call ${service}.`, command('add', member)),
      );
    const foreign = members
      .filter((member) => !invokers.includes(member))
      .map((member) => foreignCaller(service, member, command('remove', member)));
    return [...missing, ...foreign];
  });
}

/** A private function that everybody may call is a failure; one further account may be the operator's own. */
function foreignCaller(service: string, member: string, remedy: string): Check {
  const everybody = ['allUsers', 'allAuthenticatedUsers'].includes(member);
  const message = `${member} may call ${service}, and the deployment does not name it.`;
  return (everybody ? failed : warning)('cloud-invokers', message, remedy);
}

const broadRoles = new Set(['roles/owner', 'roles/editor', 'roles/viewer']);

/** Checks the service accounts: they exist, with the roles that they need and no broad one. */
export function accountChecks(cloud: Cloud, { accounts }: Deployment): Promise<Check[]> {
  const message = `${count(accounts.length, 'service account')} have the roles that they need, and no broad one.`;
  return area(cloud, { id: 'cloud-accounts', message }, async (own) => {
    const { apis, projectId } = own;
    let policy: Policy | undefined;
    const noPolicy = await looking(own, 'roles in the project', async () => {
      const path = `cloudresourcemanager.googleapis.com/v3/projects/${projectId}:getIamPolicy`;
      policy = await apis.post<Policy>(path, { options: { requestedPolicyVersion: policyVersion } });
      return [];
    });
    return [...noPolicy, ...(await each(accounts, (account) => accountFaults(own, policy, account)))];
  });
}

function accountFaults(cloud: Cloud, policy: Policy | undefined, account: DeployedAccount): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const { email, users } = account;
  const project = word(projectId);
  const path = `iam.googleapis.com/v1/projects/${projectId}/serviceAccounts/${email}`;
  return looking(cloud, `account ${email}`, async () => {
    const found = await apis.get<{ disabled?: boolean }>(path);
    if (found === undefined) {
      const [name = ''] = email.split('@');
      const remedy = `gcloud iam service-accounts create ${word(name)} --project=${project}`;
      return [failed('cloud-accounts', `There is no service account ${email}.`, remedy)];
    }
    const faults = policy === undefined ? [] : roleFaults(policy, account, project);
    if (found.disabled === true) {
      const remedy = `gcloud iam service-accounts enable ${email} --project=${project}`;
      faults.unshift(failed('cloud-accounts', `The service account ${email} is disabled.`, remedy));
    }
    if (users.length === 0) return faults;
    const query = `options.requestedPolicyVersion=${policyVersion}`;
    const own = await apis.post<Policy>(`${path}:getIamPolicy?${query}`, {});
    const role = 'roles/iam.serviceAccountUser';
    const members = membersOf(own, role);
    const missing = users.filter((user) => !members.includes(memberOf(user)));
    return [
      ...faults,
      ...missing.map((user) =>
        failed(
          'cloud-accounts',
          `${user} may not create tasks that carry the identity of ${email}.`,
          `gcloud iam service-accounts add-iam-policy-binding ${email} --member=${memberOf(user)} --role=${role} --project=${project}`,
        ),
      ),
    ];
  });
}

function roleFaults(policy: Policy, { email, roles }: DeployedAccount, project: string): Check[] {
  const held = rolesOf(policy, memberOf(email));
  const binding = (verb: string, role: string) =>
    `gcloud projects ${verb}-iam-policy-binding ${project} --member=${memberOf(email)} --role=${role} --condition=None`;
  return [
    ...roles
      .filter((role) => !held.includes(role))
      .map((role) => failed('cloud-accounts', `${email} lacks ${role}.`, binding('add', role))),
    ...held
      .filter((role) => broadRoles.has(role))
      .map((role) =>
        warning('cloud-accounts', `${email} has the broad role ${role}.`, binding('remove', role)),
      ),
  ];
}
