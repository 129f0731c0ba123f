import { type Check, failed, ok, warning } from '../check.ts';
import { type Cloud, count, looking, okUnless, word } from './cloud.ts';
import {
  deployerPermissions,
  deployerRoles,
  firstServices,
  preflightPermissions,
  preflightRole,
  rolesFor,
  services,
} from './permissions.ts';

/** Checks the project: it exists, has billing, gives the operator the needed rights, and has the APIs enabled. */

const permissionsInACall = 100;

export async function projectChecks(cloud: Cloud): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const look = async (): Promise<Check[]> => {
    const found = await apis.get<{ state?: string }>(
      `cloudresourcemanager.googleapis.com/v3/projects/${projectId}`,
    );
    const remedy = `gcloud projects describe ${word(projectId)}`;
    if (found === undefined) return [failed('cloud-project', `There is no project ${projectId}.`, remedy)];
    if (found.state === 'ACTIVE') return [ok('cloud-project', `The project ${projectId} is active.`)];
    return [failed('cloud-project', `The project ${projectId} is in the state ${found.state}.`, remedy)];
  };
  // This call comes first: if it reaches nothing, the others cannot either.
  return looking(cloud, `project ${projectId} (or there is none)`, look, ['unauthenticated', 'unreachable']);
}

/** Without an account that pays, Google creates no function. The API for it may be off: that is no fault. */
export async function billingChecks(cloud: Cloud): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const look = async (): Promise<Check[]> => {
    const found = await apis.get<{ billingEnabled?: boolean }>(
      `cloudbilling.googleapis.com/v1/projects/${projectId}/billingInfo`,
    );
    if (found?.billingEnabled === true)
      return [ok('cloud-billing', 'A billing account pays for the project.')];
    const remedy = `gcloud billing projects link ${word(projectId)} --billing-account=ACCOUNT`;
    return [failed('cloud-billing', 'No billing account pays for the project.', remedy)];
  };
  const unseen = { ...cloud, gaps: [] };
  const found = await looking(unseen, 'billing', look);
  const [gap] = unseen.gaps as Cloud['gaps'];
  if (gap === undefined) return found;
  const remedy = `gcloud billing projects describe ${word(projectId)}`;
  return [warning('cloud-billing', `Whether the project can pay is not known: ${gap.why}`, remedy)];
}

/** `deploying`: whether the rights of a deployment are needed too; otherwise a missing one is a warning. */
export async function permissionChecks(cloud: Cloud, deploying: boolean): Promise<Check[]> {
  const wanted = [...preflightPermissions, ...deployerPermissions];
  return looking(cloud, 'rights in the project', async () => {
    const held = await heldPermissions(cloud, wanted);
    return [...ownRights(cloud, held), ...deployerRights(cloud, held, deploying)];
  });
}

async function heldPermissions({ apis, projectId }: Cloud, wanted: readonly string[]): Promise<Set<string>> {
  const path = `cloudresourcemanager.googleapis.com/v3/projects/${projectId}:testIamPermissions`;
  const held: string[] = [];
  for (let at = 0; at < wanted.length; at += permissionsInACall) {
    const permissions = wanted.slice(at, at + permissionsInACall);
    const answer = await apis.post<{ permissions?: string[] }>(path, { permissions });
    held.push(...(answer?.permissions ?? []));
  }
  return new Set(held);
}

function ownRights({ projectId }: Cloud, held: ReadonlySet<string>): Check[] {
  const missing = preflightPermissions.filter((permission) => !held.has(permission));
  if (missing.length === 0)
    return [ok('cloud-permissions', 'You have all rights that this preflight needs.')];
  const project = word(projectId);
  const remedy = [
    `gcloud iam roles create ${preflightRole} --project=${project} --permissions=${preflightPermissions.join()}`,
    `gcloud projects add-iam-policy-binding ${project} --member=user:YOU --role=projects/${project}/roles/${preflightRole} --condition=None`,
  ].join('\n');
  const message = `You lack ${count(missing.length, 'right')} of this preflight: ${missing.join(', ')}.`;
  return [failed('cloud-permissions', message, remedy)];
}

function deployerRights({ projectId }: Cloud, held: ReadonlySet<string>, deploying: boolean): Check[] {
  const missing = deployerPermissions.filter((permission) => !held.has(permission));
  if (missing.length === 0) return [ok('cloud-deployer', 'You have the rights to deploy.')];
  const remedy = rolesFor(missing, deployerRoles)
    .map(
      (role) =>
        `gcloud projects add-iam-policy-binding ${word(projectId)} --member=user:YOU --role=${role} --condition=None`,
    )
    .join('\n');
  const message = `You lack ${count(missing.length, 'right')} of a deployment: ${missing.join(', ')}.`;
  return [(deploying ? failed : warning)('cloud-deployer', message, remedy)];
}

interface Service {
  readonly config?: { readonly name?: string };
  readonly state?: string;
}

/** `deploying`: Terraform enables all but the first services, so that the others may still be off. */
export async function serviceChecks(cloud: Cloud, deploying: boolean): Promise<Check[]> {
  const { apis, projectId } = cloud;
  return looking(cloud, 'APIs of the project', async () => {
    const path = `serviceusage.googleapis.com/v1/projects/${projectId}/services?filter=state:ENABLED&pageSize=200`;
    const enabled = await apis.list<Service>(path, 'services');
    const on = new Set(enabled.map(({ config }) => config?.name));
    const off = services.filter((name) => !on.has(name));
    const faults = [
      ...apisOff(
        cloud,
        off.filter((name) => !deploying || firstServices.includes(name)),
        failed,
      ),
      ...apisOff(
        cloud,
        off.filter((name) => deploying && !firstServices.includes(name)),
        warning,
      ),
    ];
    return okUnless('cloud-apis', `All ${services.length} APIs are on.`, faults);
  });
}

function apisOff({ projectId }: Cloud, off: readonly string[], verdict: typeof failed): Check[] {
  if (off.length === 0) return [];
  const message = `${count(off.length, 'API')} of the project ${off.length === 1 ? 'is' : 'are'} off: ${off.join(', ')}.`;
  return [
    verdict('cloud-apis', message, `gcloud services enable ${off.join(' ')} --project=${word(projectId)}`),
  ];
}
