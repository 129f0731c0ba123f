import { type Configuration, type NamedResource, resourcesOf, textsIn } from './configuration.ts';

/** The rules of this project about its infrastructure, beyond what Terraform demands. */

/** Every role that may be granted, and why it reaches no further than it must. */
export const allowedRoles: Readonly<Record<string, string>> = {
  'roles/datastore.user': 'reads and writes documents; a condition names the database',
  'roles/datastore.viewer': 'reads documents; a condition names the database',
  'roles/cloudtasks.enqueuer': 'creates tasks, granted on a queue',
  'roles/iam.serviceAccountUser': 'acts as one account, granted on that account',
  'roles/storage.objectUser': 'reads and writes objects, granted on a bucket',
  'roles/storage.objectViewer': 'reads objects; a condition names the buckets of sources',
  'roles/secretmanager.secretAccessor': 'reads values, granted on a secret',
  'roles/run.invoker': 'calls one function',
  'roles/logging.logWriter': 'writes log lines; there is no smaller place to grant it',
  'roles/artifactregistry.writer': 'stores images, granted on a repository',
};

/** Roles that may be granted for the whole project without a condition. */
const projectWide = new Set(['roles/logging.logWriter']);

/** The one grant to everybody. */
const publicEdge = 'google_cloud_run_service_iam_member.public_edge';

export function policyFaults(configuration: Configuration): string[] {
  const resources = resourcesOf(configuration);
  return [
    ...roleFaults(configuration),
    ...resources.flatMap(memberFaults),
    ...resources.flatMap(protectionFaults),
    ...resources.flatMap(functionFaults),
    ...resources.flatMap(queueFaults),
    ...resources.flatMap(bucketFaults),
    ...audienceFaults(configuration),
    ...invokerFaults(configuration),
    ...ingressFaults(configuration),
  ];
}

function roleFaults(configuration: Configuration): string[] {
  const faults = textsIn({ resource: configuration.resource, locals: configuration.locals }).flatMap(
    ({ place, text }) =>
      [...text.matchAll(/roles\/[\w.]+/g)]
        .filter(([role]) => !(role in allowedRoles))
        .map(([role]) => `${place}: ${role} is not one of the allowed roles`),
  );
  for (const { type, name, block } of resourcesOf(configuration)) {
    if (/_iam_(policy|binding)$/.test(type)) faults.push(`${type}.${name}: removes grants that others made`);
    if (!type.endsWith('_iam_member')) continue;
    const roles = [...String(block['role']).matchAll(/roles\/[\w.]+/g)].map(([role]) => role);
    if (roles.length === 0) faults.push(`${type}.${name}: the role is not written out`);
    if (type !== 'google_project_iam_member' || block['condition'] !== undefined) continue;
    if (!roles.every((role) => projectWide.has(role)))
      faults.push(`${type}.${name}: a grant for the whole project needs a condition`);
  }
  return faults;
}

function memberFaults({ type, name, block }: NamedResource): string[] {
  const place = `${type}.${name}`;
  return textsIn(block).flatMap(({ text }) => {
    if (/allAuthenticatedUsers/.test(text))
      return [`${place}: allAuthenticatedUsers is everybody with an account`];
    if (!/allUsers/.test(text)) return [];
    if (place !== publicEdge) return [`${place}: only ${publicEdge} may grant to allUsers`];
    return block['for_each'] === '${local.public}' ? [] : [`${place}: opens more than the groups`];
  });
}

const protectedTypes: Readonly<Record<string, readonly string[]>> = {
  google_firestore_database: ['delete_protection_state', 'deletion_policy'],
  google_storage_bucket: ['deletion_policy'],
  google_secret_manager_secret: ['deletion_protection'],
};

function protectionFaults({ type, name, block }: NamedResource): string[] {
  return (protectedTypes[type] ?? [])
    .filter((argument) => !String(block[argument]).includes('var.deletion_protection'))
    .map((argument) => `${type}.${name}: ${argument} does not follow var.deletion_protection`);
}

function functionFaults({ type, name, block }: NamedResource): string[] {
  if (type !== 'google_cloudfunctions2_function') return [];
  const place = `${type}.${name}`;
  const [service = {}] = (block['service_config'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  const needed = [
    'max_instance_count',
    'max_instance_request_concurrency',
    'timeout_seconds',
    'service_account_email',
    'ingress_settings',
  ];
  const missing = needed.filter((argument) => service[argument] === undefined);
  const ingress = service['ingress_settings'] === '${local.ingress_of[each.key]}';
  return [
    ...missing.map((argument) => `${place}: ${argument} is not set`),
    ...(ingress ? [] : [`${place}: ingress does not follow local.ingress_of`]),
  ];
}

function queueFaults({ type, name, block }: NamedResource): string[] {
  if (type !== 'google_cloud_tasks_queue') return [];
  const [retry = {}] = (block['retry_config'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  const [rate = {}] = (block['rate_limits'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  const faults = [
    ...(Number(retry['max_attempts']) === -1 ? [] : ['gives up: max_attempts is not -1']),
    ...(retry['max_backoff'] === undefined ? ['has no max_backoff'] : []),
    ...['max_concurrent_dispatches', 'max_dispatches_per_second']
      .filter((limit) => rate[limit] === undefined)
      .map((limit) => `has no ${limit}`),
  ];
  return faults.map((fault) => `${type}.${name}: ${fault}`);
}

function bucketFaults({ type, name, block }: NamedResource): string[] {
  if (type !== 'google_storage_bucket') return [];
  const [versioning = {}] = (block['versioning'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  const expected: readonly (readonly [string, unknown, unknown])[] = [
    ['uniform_bucket_level_access', block['uniform_bucket_level_access'], true],
    ['public_access_prevention', block['public_access_prevention'], 'enforced'],
    ['force_destroy', block['force_destroy'], false],
    ['versioning', versioning['enabled'], true],
  ];
  return expected
    .filter(([, value, needed]) => value !== needed)
    .map(([argument, , needed]) => `${type}.${name}: ${argument} is not ${String(needed)}`);
}

/** Every token that this deployment sends names its account and its audience. */
function audienceFaults(configuration: Configuration): string[] {
  const faults = resourcesOf(configuration).flatMap(({ type, name, block }) => {
    const target = block['http_target'] as readonly Readonly<Record<string, unknown>>[] | undefined;
    if (type !== 'google_cloud_scheduler_job' && target === undefined) return [];
    const [token] = (target?.[0]?.['oidc_token'] ?? []) as readonly Readonly<Record<string, unknown>>[];
    if (token === undefined) return [`${type}.${name}: calls without a token`];
    return ['audience', 'service_account_email']
      .filter((argument) => token[argument] === undefined)
      .map((argument) => `${type}.${name}: the token has no ${argument}`);
  });
  const { environment, route_environment: routes } = configuration.locals;
  const google = 'ExecutionRuntime__Google__';
  for (const setting of ['OidcAudience', 'ServiceAccountEmail']) {
    if (!textsIn(environment).some(({ place }) => place === `${google}${setting}`))
      faults.push(`locals.environment: tasks for the worker have no ${setting}`);
    if (!String(routes).includes(`__${setting}`))
      faults.push(`locals.route_environment: tasks for a route have no ${setting}`);
  }
  return faults;
}

/** Every function has a named caller: the groups everybody, each internal function one account. */
function invokerFaults(configuration: Configuration): string[] {
  const { internal, scheduled } = configuration.locals;
  const grants = configuration.resource['google_cloud_run_service_iam_member'] ?? {};
  const services = Object.values(grants).flatMap((blocks) =>
    blocks.map((block) => `${String(block['for_each'])} ${String(block['service'])}`),
  );
  const isScheduled = (name: string) => (scheduled as readonly string[]).includes(name);
  return Object.keys(internal as object)
    .filter((name) => {
      const grant = isScheduled(name) ? 'toset(local.scheduled)' : `["${name}"]`;
      return !services.some((service) => service.includes(grant));
    })
    .map((name) => `the function ${name} has no caller`);
}

function ingressFaults({ locals }: Configuration): string[] {
  const text = String(locals['ingress_of']).replace(/\s+/g, ' ');
  const internal = '!contains(keys(local.public), name) ? "ALLOW_INTERNAL_ONLY" : ';
  return text.includes(internal) ? [] : ['an internal function accepts requests from other networks'];
}
