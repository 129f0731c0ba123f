/** Writes the stubs of a new operation: `npm run new-operation -- --help`. Each stub fails a check until it is written. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { planOperation } from './new-operation/plan.ts';
import {
  AnswerFault,
  completed,
  type Given,
  type KnownCatalog,
  type NewOperation,
} from './new-operation/request.ts';
import { nextSteps } from './new-operation/steps.ts';

const ASKED = {
  group: 'Group (an existing one, or a new word)',
  id: 'Operation id, such as getCanonicalFence',
  method: 'HTTP method',
  path: 'Path, such as /canonical/tenants/{tenantId}/fences/{name}/{value}',
} as const;

interface Options extends Given {
  readonly root: string;
  readonly dryRun?: true;
  readonly generate: boolean;
}

const program = new Command('new-operation')
  .description(
    'Writes the stubs of a new operation. Without --group, --id, --method or --path it asks for them.',
  )
  .option('--group <name>', 'group; a word that is not a group yet creates one')
  .option('--id <id>', 'operation id: a verb and nouns, such as getCanonicalFence')
  .option('--method <method>', 'HTTP method')
  .option('--path <path>', 'path with parameters in braces')
  .option('--mutation <kind>', 'read, write or delete (default for GET: read)')
  .option('--access <right>', 'right that the caller needs (default: the kind of mutation)')
  .option('--class <name>', 'authorization class (default: that of the group)')
  .option('--resource <name>', 'folder inside the group (default: the last path parameter)')
  .option('--job <handler>', 'the operation admits this job and answers 202')
  .option('--no-preview', 'the operation is public from its first release')
  .option('--dry-run', 'prints the files and writes none')
  .option('--no-generate', 'does not run npm run generate')
  .option('--root <folder>', 'the project', resolve(import.meta.dirname, '..'))
  .action(run);
await program.parseAsync();

async function run(options: Options & { readonly class?: string }): Promise<void> {
  try {
    const given = await asked({ ...options, authorizationClass: options.class });
    const operation = completed(given, readCatalog(options.root));
    const files = planOperation(options.root, operation);
    for (const path of files.keys()) console.log(path);
    if (options.dryRun !== true) write(options, files, operation);
  } catch (error) {
    if (!(error instanceof AnswerFault)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Asks for the missing answers if a person uses the terminal. */
async function asked(given: Given): Promise<Given> {
  const missing = Object.entries(ASKED).filter(([name]) => Reflect.get(given, name) === undefined);
  if (missing.length === 0 || !process.stdin.isTTY) return given;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answers: [string, string][] = [];
  for (const [name, question] of missing) answers.push([name, await terminal.question(`${question}: `)]);
  terminal.close();
  return { ...given, ...Object.fromEntries(answers) };
}

/** The composed catalog with the authorization classes of the source. */
function readCatalog(root: string): KnownCatalog {
  return JSON.parse(readFileSync(join(root, 'contracts/public-sdk-surface.json'), 'utf8')) as KnownCatalog;
}

function write(options: Options, files: ReadonlyMap<string, string>, operation: NewOperation): void {
  const { root } = options;
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const formatted = [...files.keys()].filter((path) => /\.(?:ts|json)$/.test(path));
  tool(root, 'node_modules/.bin/biome', 'check', '--write', ...formatted);
  if (options.generate) tool(root, 'npm', 'run', '--silent', 'generate');
  console.log(nextSteps(operation));
}

function tool(cwd: string, command: string, ...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stdout}${stderr}`);
}
