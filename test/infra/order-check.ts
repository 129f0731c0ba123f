import { type Configuration, type NamedResource, resourcesOf, textsIn } from './configuration.ts';

/** Whether Terraform creates and replaces resources in an order that Google accepts. */

/** Resources that a function needs from its first request on and that its arguments do not name. */
const neededByFunctions: readonly string[] = [
  'google_project_iam_member.database',
  'google_secret_manager_secret_iam_member.settings',
  'google_cloud_tasks_queue_iam_member.enqueuer',
  'google_service_account_iam_member.acts_as_tasks',
  'google_storage_bucket_iam_member.function',
  'google_firestore_field.this',
  'google_firestore_index.this',
];

/** Resources whose every change is a replacement while others use them. */
const replacedInUse = new Set([
  'google_secret_manager_secret_version',
  'google_compute_managed_ssl_certificate',
  'google_storage_bucket_object',
]);

export function orderFaults(configuration: Configuration): string[] {
  const resources = resourcesOf(configuration);
  const reached = reachedFrom(configuration, resources);
  const isLater = ({ type }: NamedResource) => type !== 'google_project_service';
  return [
    ...resources
      .filter((each) => isLater(each) && !reached(nameOf(each)).has('google_project_service.this'))
      .map((each) => `${nameOf(each)}: may be created before its API is on`),
    ...resources
      .filter(({ type }) => type === 'google_cloudfunctions2_function')
      .flatMap((each) =>
        neededByFunctions
          .filter((needed) => !reached(nameOf(each)).has(needed))
          .map((needed) => `${nameOf(each)}: starts before ${needed} is there`),
      ),
    ...resources
      .filter(({ type, block }) => replacedInUse.has(type) && !isCreatedFirst(block['lifecycle']))
      .map((each) => `${nameOf(each)}: is removed before its successor is there`),
  ];
}

const nameOf = ({ type, name }: NamedResource) => `${type}.${name}`;

function isCreatedFirst(lifecycle: unknown): boolean {
  const [rules] = (lifecycle ?? []) as readonly Readonly<Record<string, unknown>>[];
  return rules?.['create_before_destroy'] === true;
}

/** All that a resource waits for, also by way of locals and of other resources. */
function reachedFrom({ locals }: Configuration, resources: readonly NamedResource[]) {
  const blocks = new Map<string, unknown>([
    ...resources.map((each) => [nameOf(each), each.block] as const),
    ...Object.entries(locals).map(([name, value]) => [`local.${name}`, value] as const),
  ]);
  const direct = (name: string) =>
    textsIn(blocks.get(name)).flatMap(({ text }) => text.match(/(?<![\w.])(?:google_\w+|local)\.\w+/g) ?? []);
  return (name: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const open = [name];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const fresh = direct(next).filter((each) => blocks.has(each) && !seen.has(each));
      for (const each of fresh) seen.add(each);
      open.push(...fresh);
    }
    return seen;
  };
}
