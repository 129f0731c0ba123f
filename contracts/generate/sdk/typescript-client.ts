import { HEADER } from '../print.ts';
import type { SdkContract, SdkGroup } from './ir.ts';
import { groupNames, parametersName, takesParameters } from './typescript-group.ts';
import { PACKAGE_NAMES } from './typescript-models.ts';

/** Package entries that no group may use as its name: those of workers, and `package.json`. */
const TAKEN_ENTRIES: ReadonlySet<string> = new Set(['worker', 'web', 'replay', 'package.json']);

/** Handwritten methods on top of an operation. The client of the operation's group gets them too. */
const WRITTEN_BY_HAND = [
  {
    operation: 'readCanonicalDocument',
    imports: [
      "import { found } from '../../find.ts';",
      "import type { CallOptions } from '../../options.ts';",
      "import type { CanonicalDocument, CanonicalDocumentReadRequest } from '../models.ts';",
    ],
    method: `
  /**
   * The current revision of a document, as \`getCanonicalDocument\` reads it; \`null\` if there is none. A deleted document
   * is \`null\` unless \`includeDeleted\` is true.
   */
  findCanonicalDocument(
    tenantId: string,
    request: CanonicalDocumentReadRequest,
    options: CallOptions = {},
  ): Promise<CanonicalDocument | null> {
    return found(this.getCanonicalDocument(tenantId, request, options));
  }
`,
  },
  {
    operation: 'getExecutionRun',
    imports: [
      "import { type RunWaitOptions, waitForRun } from '../../wait-run.ts';",
      "import type { ExecutionRun } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the run has ended and returns it with any \`status\`. Throws \`APITimeoutError\` if \`waitTimeout\`
   * passes first; the run then continues.
   */
  waitForExecutionRun(runId: string, options: RunWaitOptions = {}): Promise<ExecutionRun> {
    return waitForRun(this, runId, options);
  }
`,
  },
  {
    operation: 'getRecordImportJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { RecordImportJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the import or batch has ended and returns it with any \`status\`; \`null\` if the job does not exist. Throws
   * \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForRecordImportJob(jobId: string, options: RunWaitOptions = {}): Promise<RecordImportJob | null> {
    const reader = { operation: 'getRecordImportJob', read: this.getRecordImportJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }
`,
  },
  {
    operation: 'getEmbeddingJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { EmbeddingJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the embedding job has ended and returns it with any \`status\`; \`null\` if the job does not exist. Throws
   * \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForEmbeddingJob(jobId: string, options: RunWaitOptions = {}): Promise<EmbeddingJob | null> {
    const reader = { operation: 'getEmbeddingJob', read: this.getEmbeddingJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }
`,
  },
  {
    operation: 'getProviderRunJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { ProviderRunJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the provider job has ended and returns it with any \`status\`; \`null\` if the job does not exist. Throws
   * \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForProviderJob(jobId: string, options: RunWaitOptions = {}): Promise<ProviderRunJob | null> {
    const reader = { operation: 'getProviderRunJob', read: this.getProviderJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }
`,
  },
  {
    operation: 'getRetrievalEvaluationJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { RetrievalEvaluationJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the evaluation or comparison has ended and returns it with any \`status\`; \`null\` if the job does not
   * exist. Throws \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForRetrievalEvaluationJob(
    jobId: string,
    options: RunWaitOptions = {},
  ): Promise<RetrievalEvaluationJob | null> {
    const read = this.getRetrievalEvaluationJob.bind(this, jobId);
    return waitForJob(this, { operation: 'getRetrievalEvaluationJob', read }, options);
  }
`,
  },
  {
    operation: 'getGraphJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { GraphJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the graph job has ended and returns it with any \`status\`; \`null\` if the job does not exist. Throws
   * \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForGraphJob(jobId: string, options: RunWaitOptions = {}): Promise<GraphJob | null> {
    const reader = { operation: 'getGraphJob', read: this.getGraphJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }
`,
  },
  {
    operation: 'getRagIngestionJob',
    imports: [
      "import { waitForJob } from '../../wait-job.ts';",
      "import type { RunWaitOptions } from '../../wait-run.ts';",
      "import type { RagIngestionJob } from '../models.ts';",
    ],
    method: `
  /**
   * Waits until the ingestion has ended and returns it with any \`status\`; \`null\` if the job does not exist. Throws
   * \`APITimeoutError\` if \`waitTimeout\` passes first; the job then continues.
   */
  waitForRagIngestionJob(jobId: string, options: RunWaitOptions = {}): Promise<RagIngestionJob | null> {
    const reader = { operation: 'getRagIngestionJob', read: this.getRagIngestionJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
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
/** Every operation of the contract. \`SvcClient\` adds the handwritten methods. */
export class Operations extends ClientCore {}

export interface Operations${heritage} {}

flatten(Operations, [${all}]);
`;
}

/**
 * Exports the parameter types of the group's operations, but not its class, which callers reach through their client.
 */
function parametersExport({ operations }: SdkContract, { name }: SdkGroup, folder: string): string {
  const names = operations
    .filter(({ group }) => group === name)
    .filter(takesParameters)
    .map(parametersName);
  return names.length === 0
    ? ''
    : `export type {\n  ${names.join(',\n  ')},\n} from '${folder}/${name}.ts';\n`;
}

/** `clients/<group>.ts`: a package entry with the client of one group. */
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
/** A client of the operations of one group: ${group.title}. A bundle with it contains no other group. */
export class ${client} extends ${operations} {
  /** Another client with the options of this one; the given options replace them. */
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

/** The entries of the package: the whole client, then one per group. */
function typescriptEntries({ groups }: SdkContract): Readonly<Record<string, object | string>> {
  return {
    '.': entry('index'),
    ...Object.fromEntries(groups.map(({ name }) => [`./${name}`, entry(`generated/clients/${name}`)])),
    './worker': entry('worker/index'),
    './web': entry('worker/web'),
    './replay': entry('worker/steps/replay'),
    './package.json': './package.json',
  };
}

/** `package.json` of the client: the release's version and the groups' entries. */
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
    engines: { node: '>=20.19' },
    exports: typescriptEntries(contract),
    files: ['dist', 'api.md'],
  };
  // The short list on one line, as the project's formatter writes it.
  return `${JSON.stringify(description, null, 2).replace(/\[\s+("dist"),\s+("api.md")\s+\]/, '[$1, $2]')}\n`;
}
