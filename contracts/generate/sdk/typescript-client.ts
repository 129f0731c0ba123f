import { HEADER } from '../print.ts';
import type { SdkContract, SdkGroup } from './ir.ts';
import { groupNames, parametersName, takesParameters } from './typescript-group.ts';
import { PACKAGE_NAMES } from './typescript-models.ts';

/** What the package has beside its groups, so that no group can take the name: the entry for workers, and `package.json`. */
const TAKEN_ENTRIES: ReadonlySet<string> = new Set(['worker', 'package.json']);

/** Methods that are written by hand on top of an operation. The client of the operation's group gets them too. */
const WRITTEN_BY_HAND = [
  {
    operation: 'getExecutionRun',
    imports: [
      "import { type RunWaitOptions, waitForRun } from '../../wait-run.ts';",
      "import type { ExecutionRun } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the run has ended and returns it, whatever its \`status\`. Throws \`APITimeoutError\` if \`waitTimeout\`
   * passes first; the run then continues.
   */
  waitForExecutionRun(runId: string, options: RunWaitOptions = {}): Promise<ExecutionRun> {
    return waitForRun(this, runId, options);
  }
`,
  },
];

/** `client.ts`: the methods of all groups in one class. */
export function typescriptClient(contract: SdkContract): string {
  const groups = contract.groups.map((group) => ({ ...group, ...groupNames(group) }));
  const imports = groups.map(
    ({ name, operations }) => `import { ${operations} } from './groups/${name}.ts';\n`,
  );
  const parameters = contract.groups.map((group) => parametersExport(contract, group, './groups'));
  const all = groups.map(({ operations }) => operations).join(', ');
  const heritage = all === '' ? '' : ` extends ${all}`;
  return `${HEADER}

import { ClientCore } from '../core.ts';
import { flatten } from '../flatten.ts';
${imports.join('')}
${parameters.join('')}
/** Every operation of the contract. \`SvcClient\` adds what is written by hand. */
export class Operations extends ClientCore {}

export interface Operations${heritage} {}

flatten(Operations, [${all}]);
`;
}

/** Exports the parameters of the group's operations, and not its class, which callers reach by their client alone. */
function parametersExport({ operations }: SdkContract, { name }: SdkGroup, folder: string): string {
  const names = operations
    .filter(({ group }) => group === name)
    .filter(takesParameters)
    .map(parametersName);
  return names.length === 0
    ? ''
    : `export type {\n  ${names.join(',\n  ')},\n} from '${folder}/${name}.ts';\n`;
}

/** `clients/<group>.ts`: an entry of the package, with the client of one group. */
export function typescriptGroupClient(contract: SdkContract, group: SdkGroup): string {
  const { operations, client } = groupNames(group);
  refuseTaken(contract, group);
  const extras = WRITTEN_BY_HAND.filter(({ operation }) =>
    contract.operations.some(({ id, group: name }) => id === operation && name === group.name),
  );
  const imports = [
    "import { changedOptions } from '../../core.ts';",
    "import type { ClientOptions } from '../../options.ts';",
    ...extras.flatMap((extra) => extra.imports),
    `import { ${operations} } from '../groups/${group.name}.ts';`,
  ];
  return `${HEADER}

${imports.join('\n')}

export * from '../../common.ts';
${parametersExport(contract, group, '../groups')}
/** A client of the operations of one group: ${group.title}. A bundle with it holds no other group. */
export class ${client} extends ${operations} {
  /** Another client with the options of this one, replaced by those that are given here. */
  withOptions(options: ClientOptions): ${client} {
    return new ${client}(changedOptions(this, options));
  }
${extras.map(({ method }) => method).join('')}}
`;
}

function refuseTaken({ models }: SdkContract, group: SdkGroup): void {
  if (TAKEN_ENTRIES.has(group.name)) throw new Error(`the package has another entry ${group.name}`);
  const names = Object.values(groupNames(group));
  const taken = names.find((name) => PACKAGE_NAMES.has(name) || models.some((model) => model.name === name));
  if (taken !== undefined) throw new Error(`the group ${group.name} cannot have a class ${taken}`);
}

function entry(path: string): object {
  return { types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` };
}

/** The entries of the package: one for each group, after the whole client. */
export function typescriptEntries({ groups }: SdkContract): Readonly<Record<string, object | string>> {
  return {
    '.': entry('index'),
    ...Object.fromEntries(groups.map(({ name }) => [`./${name}`, entry(`generated/clients/${name}`)])),
    './worker': entry('worker/index'),
    './package.json': './package.json',
  };
}

/** `package.json` of the client: its version is that of the release, its entries follow the groups. */
export function typescriptPackage(contract: SdkContract, license: string): string {
  const description = {
    name: '@svc-runtime/client',
    version: contract.version,
    private: true,
    description:
      'Client of svc: tenant-scoped canonical store, durable execution runtime, one public contract',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.3' },
    exports: typescriptEntries(contract),
    files: ['dist', 'api.md'],
  };
  // One line for the short list, as the formatter of the project has it.
  return `${JSON.stringify(description, null, 2).replace(/\[\s+("dist"),\s+("api.md")\s+\]/, '[$1, $2]')}\n`;
}
