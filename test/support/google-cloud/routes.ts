import type { CloudProject, Resource } from './project.ts';

/** The calls of Google's APIs that the stand-in answers, each with the right that it needs. */

export interface Answer {
  readonly status: number;
  readonly json: object;
}

export interface Call {
  readonly method: string;
  readonly url: URL;
  readonly json: Readonly<Record<string, unknown>>;
  readonly pageSizeMax: number;
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly host: string;
  readonly version: string;
  /** As the API's own description writes it: `{+x}` would take slashes, `{x}` takes one part. */
  readonly path: string;
  /** `null`: asks for no right. */
  readonly permission: string | null;
  readonly answer: (project: CloudProject, path: string, call: Call) => Answer;
}

const inPlace = 'projects/{projectsId}/locations/{locationsId}';
const group = 'projects/{projectsId}/databases/{databasesId}/collectionGroups/{collectionGroupsId}';

export const routes: readonly Route[] = [
  get('cloudresourcemanager', 'v3', 'projects/{projectsId}', 'resourcemanager.projects.get', activeProject),
  post('cloudresourcemanager', 'v3', 'projects/{projectsId}:testIamPermissions', null, heldPermissions),
  post(
    'cloudresourcemanager',
    'v3',
    'projects/{projectsId}:getIamPolicy',
    'resourcemanager.projects.getIamPolicy',
    policy,
  ),
  get('cloudbilling', 'v1', 'projects/{projectsId}/billingInfo', 'resourcemanager.projects.get', billing),
  get('serviceusage', 'v1', 'projects/{projectsId}/services', 'serviceusage.services.list', enabledServices),
  get(
    'firestore',
    'v1',
    'projects/{projectsId}/databases/{databasesId}',
    'datastore.databases.getMetadata',
    resource,
  ),
  get('firestore', 'v1', `${group}/fields`, 'datastore.indexes.list', overriddenFields),
  get('firestore', 'v1', `${group}/indexes`, 'datastore.indexes.list', compositeIndexes),
  get('cloudtasks', 'v2', `${inPlace}/queues/{queuesId}`, 'cloudtasks.queues.get', resource),
  post(
    'cloudtasks',
    'v2',
    `${inPlace}/queues/{queuesId}:getIamPolicy`,
    'cloudtasks.queues.getIamPolicy',
    policy,
  ),
  get('cloudscheduler', 'v1', `${inPlace}/jobs/{jobsId}`, 'cloudscheduler.jobs.get', resource),
  get(
    'secretmanager',
    'v1',
    'projects/{projectsId}/secrets/{secretsId}',
    'secretmanager.secrets.get',
    resource,
  ),
  get(
    'secretmanager',
    'v1',
    'projects/{projectsId}/secrets/{secretsId}/versions/{versionsId}',
    'secretmanager.versions.get',
    resource,
  ),
  get(
    'secretmanager',
    'v1',
    'projects/{projectsId}/secrets/{secretsId}:getIamPolicy',
    'secretmanager.secrets.getIamPolicy',
    policy,
  ),
  get('storage', 'storage/v1', 'b/{bucket}', 'storage.buckets.get', resource),
  get('storage', 'storage/v1', 'b/{bucket}/iam', 'storage.buckets.getIamPolicy', policy),
  get('cloudfunctions', 'v2', `${inPlace}/functions/{functionsId}`, 'cloudfunctions.functions.get', resource),
  get('run', 'v2', `${inPlace}/services/{servicesId}:getIamPolicy`, 'run.services.getIamPolicy', policy),
  get(
    'iam',
    'v1',
    'projects/{projectsId}/serviceAccounts/{serviceAccountsId}',
    'iam.serviceAccounts.get',
    resource,
  ),
  post(
    'iam',
    'v1',
    'projects/{projectsId}/serviceAccounts/{serviceAccountsId}:getIamPolicy',
    'iam.serviceAccounts.getIamPolicy',
    policy,
  ),
];

function route(method: Route['method']) {
  return (
    name: string,
    version: string,
    path: string,
    permission: string | null,
    answer: Route['answer'],
  ): Route => ({ method, host: `${name}.googleapis.com`, version, path, permission, answer });
}

function get(...of: Parameters<ReturnType<typeof route>>): Route {
  return route('GET')(...of);
}

function post(...of: Parameters<ReturnType<typeof route>>): Route {
  return route('POST')(...of);
}

export function answerOf(project: CloudProject, call: Call): Answer {
  const target = decodeURIComponent(call.url.pathname.slice(1));
  const found = routes.find((each) => each.method === call.method && patternOf(each).test(target));
  if (found === undefined) return problem(404, 'NOT_FOUND', 'Requested entity was not found.');
  const path = target.slice(`${found.host}/${found.version}/`.length);
  const own = path.startsWith('b/') || path.split(/[/:]/)[1] === project.projectId;
  if (!own) return problem(403, 'PERMISSION_DENIED', 'The caller does not have permission');
  if (!project.enabled.has(found.host)) return apiOff(project, found.host);
  if (found.permission !== null && !project.permissions.has(found.permission)) return denied(found, path);
  return found.answer(project, path, call);
}

function patternOf({ host, version, path }: Route): RegExp {
  const literal = `${host}/${version}/`.replaceAll('.', '\\.');
  return new RegExp(`^${literal}${path.replaceAll(/\{\w+\}/g, '[^/:]+')}$`);
}

export function problem(
  code: number,
  status: string,
  message: string,
  details: readonly object[] = [],
): Answer {
  return {
    status: code,
    json: { error: { code, message, status, ...(details.length === 0 ? {} : { details }) } },
  };
}

function denied({ host, permission }: Route, path: string): Answer {
  const text = `Permission '${permission}' denied on resource '//${host}/${path}' (or it may not exist).`;
  if (host !== 'storage.googleapis.com') return problem(403, 'PERMISSION_DENIED', text);
  // Cloud Storage has an error form of its own.
  const errors = [{ message: text, domain: 'global', reason: 'forbidden' }];
  return { status: 403, json: { error: { code: 403, message: text, errors } } };
}

function apiOff({ projectId }: CloudProject, service: string): Answer {
  const address = `https://console.developers.google.com/apis/api/${service}/overview?project=${projectId}`;
  const message = `API has not been used in project ${projectId} before or it is disabled. Enable it by visiting ${address} then retry.`;
  return problem(403, 'PERMISSION_DENIED', message, [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'SERVICE_DISABLED',
      domain: 'googleapis.com',
      metadata: { consumer: `projects/${projectId}`, service },
    },
  ]);
}

function activeProject({ projectId }: CloudProject): Answer {
  return {
    status: 200,
    json: { name: 'projects/123456789012', projectId, state: 'ACTIVE', displayName: projectId },
  };
}

/** The member is absent where the caller has none of the rights. */
function heldPermissions({ permissions }: CloudProject, _: string, { json }: Call): Answer {
  const asked = (json['permissions'] ?? []) as string[];
  if (asked.length > 100) return problem(400, 'INVALID_ARGUMENT', 'Too many permissions.');
  const held = asked.filter((each) => permissions.has(each));
  return { status: 200, json: held.length === 0 ? {} : { permissions: held } };
}

function billing({ projectId, billingEnabled }: CloudProject): Answer {
  const name = `projects/${projectId}/billingInfo`;
  return { status: 200, json: { name, projectId, ...(billingEnabled ? { billingEnabled } : {}) } };
}

function enabledServices({ projectId, enabled }: CloudProject, _: string, call: Call): Answer {
  const items = [...enabled].sort().map((name) => ({
    name: `projects/123456789012/services/${name}`,
    config: { name, title: name },
    state: 'ENABLED',
    parent: `projects/${projectId}`,
  }));
  return page(call, 'services', items);
}

function overriddenFields({ fields }: CloudProject, _: string, call: Call): Answer {
  const filter = call.url.searchParams.get('filter') ?? '';
  if (!filter.includes('indexConfig.usesAncestorConfig:false') && !filter.includes('ttlConfig:*')) {
    return problem(
      400,
      'INVALID_ARGUMENT',
      'Only listing fields that have been explicitly overridden is supported.',
    );
  }
  return page(call, 'fields', fields);
}

function compositeIndexes({ indexes }: CloudProject, _: string, call: Call): Answer {
  return page(call, 'indexes', indexes);
}

function resource({ resources }: CloudProject, path: string): Answer {
  const found = resources.get(path);
  if (found !== undefined) return { status: 200, json: found };
  return problem(404, 'NOT_FOUND', `${path} was not found.`);
}

function policy(project: CloudProject, path: string): Answer {
  const name = path.replace(/:getIamPolicy$|\/iam$/, '');
  const bindings = project.policies.get(name);
  if (bindings === undefined) return problem(404, 'NOT_FOUND', `${name} was not found.`);
  const held = bindings.filter(({ members }) => members.length > 0);
  return {
    status: 200,
    json: { version: 1, etag: 'BwYt', ...(held.length === 0 ? {} : { bindings: held }) },
  };
}

/** As the real ones do: no member for an empty list, no token on the last page. */
function page({ url, pageSizeMax }: Call, member: string, items: readonly Resource[]): Answer {
  const from = Number(url.searchParams.get('pageToken') ?? 0);
  const size = Math.min(Number(url.searchParams.get('pageSize') ?? 50), pageSizeMax);
  const found = items.slice(from, from + size);
  const next = from + size < items.length ? { nextPageToken: String(from + size) } : {};
  return { status: 200, json: { ...(found.length === 0 ? {} : { [member]: found }), ...next } };
}
