import { HEADER, literal, memberName, quote, union } from './print.ts';
import type { Json } from './schema.ts';
import type { ContractSource } from './source.ts';

/**
 * The table of `functions/compose/groups/`. It spells out each path, because a bundler follows literal imports only. A
 * group without a file in that folder does not compile.
 */
export function emitGroupModules({ catalog }: ContractSource): string {
  const rows = Object.keys(catalog.groups).map(
    (group) => `  ${group}: async () => (await import('../groups/${group}.ts')).group,\n`,
  );
  return [
    HEADER,
    '',
    "import type { Group } from '../../../contracts/generated/groups.ts';",
    "import type { GroupModule } from '../group.ts';",
    '',
    'export const loadGroupModule: Readonly<Record<Group, () => Promise<GroupModule>>> = {',
    `${rows.join('')}};`,
    '',
  ].join('\n');
}

/**
 * `groups.ts`: the few facts of the whole catalog that every function reads at its start. It holds no operations: a
 * function loads the operations of its own groups only.
 */
export function emitGroups({ catalog }: ContractSource): string {
  const groups = Object.keys(catalog.groups);
  const classes = Object.entries(catalog.authorizationClasses);
  const used = groups.map((name) => {
    const members = catalog.operations.filter(({ group }) => group === name);
    return [name, [...new Set(members.map(({ authorizationClass }) => authorizationClass))]] as const;
  });
  const admitting = groups.filter((name) =>
    catalog.operations.some(({ group, completion }) => group === name && completion === 'receipt-bound'),
  );
  const facts = classes.map(([name, { accessOperations, settings, policy, rateClass }]) => {
    const value = { settings, policy, rateClass, accessOperations } as unknown as Json;
    return `  ${memberName(name)}: ${literal(value, '  ', name.length + 4)},\n`;
  });
  return [
    HEADER,
    '',
    `export type Group = ${union(groups.map(quote))};`,
    '',
    '/** The authorization classes of the operations of each group, in the order of the documentation. */',
    `export const groupClasses = {\n${used.map(([name, names]) => `  ${name}: ${literal(names as unknown as Json)},\n`).join('')}} as const satisfies Readonly<Record<Group, readonly AuthorizationClass[]>>;`,
    '',
    '/** Groups with an operation that admits a job. */',
    `export const jobGroups: readonly Group[] = ${literal(admitting)};`,
    '',
    '/**',
    ' * The parts of the server that each authorization class belongs to: the settings section with its identity policies, the',
    ' * policy that decides, and the rate limit that counts its requests.',
    ' */',
    `export const authorizationClasses = {\n${facts.join('')}} as const;`,
    '',
    'export type AuthorizationClass = keyof typeof authorizationClasses;',
    '',
  ].join('\n');
}
