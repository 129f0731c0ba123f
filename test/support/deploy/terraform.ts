import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** The command lines of Terraform that the page has, with the refusals of the real one. */

export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
}

export interface Said {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code?: number;
}

export interface Plan {
  readonly destroy: boolean;
  readonly variables: Readonly<Record<string, string>>;
  /** The folder of the configuration. */
  readonly folder: string;
}

export interface Effects {
  apply(plan: Plan): Promise<Said>;
  /** The value of the output `svc`; `undefined` where nothing is deployed. */
  output(): object | undefined;
}

const flags: Readonly<Record<string, RegExp>> = {
  init: /^-backend-config=bucket=[a-z0-9-]+$/,
  plan: /^(-destroy|-out=\S+|-var=\w+=\S+)$/,
  apply: /^[\w.-]+\.tfplan$/,
  output: /^(-json|svc)$/,
};

export class Terraform {
  readonly #effects: Effects;
  #initialized = false;

  constructor(effects: Effects) {
    this.#effects = effects;
  }

  async run({ args, cwd }: Command): Promise<Said> {
    const [where = '', verb = '', ...rest] = args;
    const folder = join(cwd, /^-chdir=(.+)$/.exec(where)?.[1] ?? '/nowhere');
    if (globSync('*.tf', { cwd: folder }).length === 0) return refused('No configuration files');
    const wrong = rest.find((each) => flags[verb]?.test(each) !== true);
    if (wrong !== undefined || flags[verb] === undefined) return refused(`Failed to parse: ${verb} ${wrong}`);
    if (verb === 'init') {
      this.#initialized = true;
      return { stdout: 'Terraform has been successfully initialized!\n' };
    }
    if (!this.#initialized) return refused('Backend initialization required, please run "terraform init"');
    if (verb === 'plan') return plan(folder, rest);
    if (verb === 'apply') return this.#apply(folder, rest);
    const value = this.#effects.output();
    return value === undefined ? refused('Output "svc" not found') : { stdout: `${JSON.stringify(value)}\n` };
  }

  #apply(folder: string, [file = '']: readonly string[]): Promise<Said> {
    if (!existsSync(join(folder, file)))
      return Promise.resolve(refused(`Failed to load "${file}" as a plan file`));
    return this.#effects.apply(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Plan);
  }
}

function plan(folder: string, rest: readonly string[]): Said {
  const text = globSync('*.tf', { cwd: folder })
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  const declared = new Set([...text.matchAll(/^variable "(\w+)"/gm)].map(([, name]) => name));
  const given = valuesIn(
    readFileSync(join(folder, 'terraform.tfvars'), 'utf8'),
    /^(\w+)\s*=\s*"?([^"\n]*)"?$/gm,
  );
  const named = valuesIn(rest.join('\n'), /^-var=(\w+)=(.*)$/gm);
  const undeclared = Object.keys({ ...given, ...named }).find((name) => !declared.has(name));
  if (undeclared !== undefined) return refused(`Value for undeclared variable: ${undeclared}`);
  const variables = { ...given, ...named };
  const bundle = variables['bundle'] ?? '';
  if (!existsSync(isAbsolute(bundle) ? bundle : join(folder, bundle)))
    return refused(`Call to function "filesha256" failed: open ${bundle}: no such file or directory.`);
  const out = rest.map((each) => /^-out=(.*)$/.exec(each)?.[1]).find((each) => each !== undefined);
  if (out === undefined) return refused('The page keeps each plan in a file');
  const made: Plan = { destroy: rest.includes('-destroy'), variables, folder };
  writeFileSync(join(folder, out), JSON.stringify(made));
  return { stdout: `Saved the plan to: ${out}\n` };
}

function valuesIn(text: string, pattern: RegExp): Record<string, string> {
  return Object.fromEntries([...text.matchAll(pattern)].map(([, name = '', value = '']) => [name, value]));
}

export function refused(reason: string): Said {
  return { stderr: `Error: ${reason}\n`, code: 1 };
}
