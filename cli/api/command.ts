import { Command, Option } from 'commander';
import {
  exitCodes,
  type OutputForm,
  outputOption,
  outputWidth,
  printLine,
  ToolError,
  textTable,
  warn,
} from '../output.ts';
import { RemoteFailure } from '../remote/failure.ts';
import { type Inputs, processInputs } from '../remote/inputs.ts';
import { exitCodeOf, problemType } from '../remote/problem.ts';
import { connect, mediaTypeOf, remoteOptions } from '../remote.ts';
import { accessLines } from './access.ts';
import { deliver } from './answer.ts';
import { readBody } from './body.ts';
import { type ApiOperation, apiOperations, groups, groupTitle } from './catalog.ts';
import { readForm, takesForm } from './form.ts';
import { operationHelp, takesBody } from './help.ts';
import { requestOf } from './request.ts';

/** `svc api`: calls any operation of the contract on a running service. */
export function apiCommand(inputs: Inputs = processInputs()): Command {
  const command = new Command('api')
    .description('calls an operation of a running service by its id; alone, lists them')
    .usage('[options] <operationId> [--param name=value …] [--body JSON|@file|@-] [--part name=value …]')
    .argument('[operationId]', 'one of the commands below')
    // Report an unknown id before unknown options behind it.
    .allowUnknownOption()
    .allowExcessArguments()
    .action((id: string | undefined) => withoutOperation(id));
  for (const option of remoteOptions('local')) command.addOption(option);
  command.addCommand(
    new Command('list')
      .description('lists the operations by group')
      .addOption(outputOption())
      .action(({ output }: { readonly output: OutputForm }) => printLine(listText(output))),
  );
  for (const operation of apiOperations) command.addCommand(operationCommand(operation, inputs));
  return command;
}

interface CallOptions {
  /** Absent if the operation has no parameters. */
  readonly param?: readonly string[];
  readonly body?: string;
  /** Absent if the operation takes no form. */
  readonly part?: readonly string[];
  readonly idempotencyKey?: string;
  readonly output: OutputForm;
  readonly out?: string;
}

function operationCommand(operation: ApiOperation, inputs: Inputs): Command {
  const { entry, id, summary, description } = operation;
  const command = new Command(id).summary(summary).description(`${summary}. ${description}`.trim());
  if (operation.method !== null) command.alias(operation.method);
  if (operation.parameters.length > 0) command.addOption(paramOption(operation));
  if (takesForm(entry)) command.addOption(partOption());
  else if (takesBody(operation))
    command.option('--body <json>', 'the body: JSON, @file, or @- for standard input');
  if (entry.idempotency.location !== null) {
    command.option('--idempotency-key <key>', 'a name for this one intent: repeated, it is done once');
  }
  return command
    .addOption(outputOption().default('json'))
    .option('--out <file>', 'writes the answer to a file as it is')
    .addHelpText('after', () => operationHelp(operation))
    .action(async (options: CallOptions, self: Command) => {
      process.exitCode = await call(operation, options, self, inputs);
    });
}

/** `--param name=value`; a shell can complete the names. */
export class ParamOption extends Option {
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    super('--param <name=value>', 'a parameter of the path, the query or a header; again for each');
    this.names = names;
    this.default([], 'none');
    this.argParser((text: string, before: string[]) => [...before, text]);
  }
}

function paramOption({ parameters }: ApiOperation): ParamOption {
  return new ParamOption(parameters.map(({ spec }) => spec.name));
}

function partOption(): Option {
  return new Option(
    '--part <name=value>',
    'a part of the form: JSON, @file, or @- for standard input; again for each',
  )
    .default([], 'none')
    .argParser((text: string, before: string[]) => [...before, text]);
}

async function call(
  operation: ApiOperation,
  { param = [], body, part, idempotencyKey, output, out }: CallOptions,
  command: Command,
  inputs: Inputs,
): Promise<number> {
  const { entry } = operation;
  const head = requestOf(operation, { params: param, idempotencyKey });
  const remote = await connect(command, inputs);
  const form = part === undefined ? null : await readForm(operation, part, inputs);
  const bytes = form === null ? await readBody(operation, body, inputs) : form.bytes;
  const mediaType = form?.type ?? entry.requestMediaType ?? '';
  const type: [string, string][] = bytes === null ? [] : [['Content-Type', mediaType]];
  const answer = await remote
    .send({ ...head, headers: [...head.headers, ...type], body: bytes })
    .catch((error: unknown) => {
      if (error instanceof RemoteFailure && error.sent && entry.mutation !== 'read') warn(doubt(operation));
      throw error;
    });
  const status = answer.statusCode ?? 0;
  // An answer with an error status can be one that the contract describes, such as a preflight report.
  const isDescribed = entry.responses.some((response) => response.status === status);
  if (!isDescribed || mediaTypeOf(answer) === problemType) {
    return remote.refuse(answer, undefined, accessLines(operation, { params: param, body: bytes }));
  }
  await deliver(remote, answer, { output, out, terminal: process.stdout.isTTY, width: outputWidth() });
  return exitCodeOf(status);
}

function doubt({ entry }: ApiOperation): string {
  const how =
    entry.idempotency.location === null ? 'check before you repeat it' : 'repeat it with the same key';
  return `It is unknown whether the service executed the operation: ${how}.`;
}

/** Without an id, lists the operations; for an unknown id, fails. */
function withoutOperation(id: string | undefined): void {
  if (id === undefined) return printLine(listText('table'));
  if (id.startsWith('-'))
    throw new ToolError(`There is no option ${id} before the operation.`, exitCodes.usage);
  const near = apiOperations.map((operation) => operation.id).filter((known) => isNear(known, id));
  const hint = near.length === 0 ? 'svc api list shows them' : `did you mean ${near.slice(0, 5).join(', ')}?`;
  throw new ToolError(`There is no operation ${id}: ${hint}`, exitCodes.usage);
}

function isNear(known: string, text: string): boolean {
  const [left, right] = [known.toLowerCase(), text.toLowerCase()];
  return right.length > 2 && (left.includes(right) || right.includes(left));
}

function listText(output: OutputForm): string {
  const rows = apiOperations.map(({ id, entry, route, pathTemplate, summary }) => ({
    group: entry.group,
    operationId: id,
    method: route.method,
    path: pathTemplate,
    access: entry.accessOperation,
    summary,
  }));
  if (output === 'json') return JSON.stringify(rows, null, 2);
  const width = Math.max(...rows.map(({ operationId }) => operationId.length));
  const sections = groups.map((group) => {
    const own = rows.filter((row) => row.group === group);
    const lines = own.map(({ operationId, access, summary }) => [
      `  ${operationId.padEnd(width)}`,
      (access ?? '-').padEnd(8),
      summary,
    ]);
    return `${groupTitle(group)}\n${textTable(lines)}`;
  });
  return `${sections.join('\n\n')}\n\nsvc api <operationId> --help shows its parameters and its body.`;
}
