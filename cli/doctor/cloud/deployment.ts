import { exitCodes, ToolError } from '../../output.ts';

/** The parts of a deployment: the output `deployment` of the Terraform module in `infra/`. */
export interface Deployment {
  readonly projectId: string;
  readonly location: string;
  readonly databaseId: string;
  readonly functions: readonly DeployedFunction[];
  readonly queues: readonly DeployedQueue[];
  readonly jobs: readonly DeployedJob[];
  readonly secrets: readonly ReadResource[];
  readonly buckets: readonly ReadResource[];
  readonly accounts: readonly DeployedAccount[];
}

export interface DeployedFunction {
  /** The name in the catalog, such as `canonical`. */
  readonly name: string;
  /** The name in the project. */
  readonly service: string;
  readonly account: string;
  /** Members that may call it, such as `allUsers`, and no other. */
  readonly invokers: readonly string[];
}

export interface DeployedQueue {
  readonly name: string;
  readonly enqueuers: readonly string[];
}

export interface DeployedJob {
  readonly name: string;
  readonly account: string;
  readonly audience: string;
}

/** A resource with a role for accounts on it. */
export interface ReadResource {
  readonly name: string;
  readonly role: string;
  readonly accounts: readonly string[];
}

export interface DeployedAccount {
  readonly email: string;
  /** Roles in the project. */
  readonly roles: readonly string[];
  /** Accounts that may act as this one: those that create tasks with its token. */
  readonly users: readonly string[];
}

/** Reads the file that `terraform output -json svc` wrote, or the output `deployment` in it alone. */
export function readDeployment(text: string, file: string): Deployment {
  const given = parsed(text, file);
  const outer = record(given['deployment']);
  const value = outer === undefined ? given : (record(outer['value']) ?? outer);
  const at = new Reader(value, file);
  return {
    projectId: at.name('project_id'),
    location: at.name('location'),
    databaseId: at.name('database_id'),
    functions: at.entries('functions', (name, of) => ({
      name,
      service: of.name('service'),
      account: of.text('service_account'),
      invokers: of.texts('invokers'),
    })),
    queues: at.entries('queues', (name, of) => ({ name, enqueuers: of.texts('enqueuers') })),
    jobs: at.entries('jobs', (name, of) => ({
      name,
      account: of.text('service_account'),
      audience: of.text('audience'),
    })),
    secrets: at.entries('secrets', readResource),
    buckets: at.entries('buckets', readResource),
    accounts: at.entries('service_accounts', (email, of) => ({
      email,
      roles: of.texts('roles'),
      users: of.texts('users'),
    })),
  };
}

function readResource(name: string, of: Reader): ReadResource {
  return { name, role: of.text('role'), accounts: of.texts('service_accounts') };
}

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  try {
    const value = record(JSON.parse(text));
    if (value !== undefined) return value;
  } catch {
    // Falls through: a text that is no JSON has the same remedy.
  }
  throw refused(file, 'is no JSON object');
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function refused(file: string, why: string): ToolError {
  return new ToolError(
    `${file}: ${why}. Write it with: terraform output -json svc > deployment.json`,
    exitCodes.usage,
  );
}

function isName(text: string): boolean {
  return /^[A-Za-z0-9_.()@-]+$/.test(text) && !/^\.+$/.test(text);
}

/** One object of the file. Its errors name the member. */
class Reader {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #file: string;
  readonly #path: string;

  constructor(value: Readonly<Record<string, unknown>>, file: string, path = '') {
    this.#value = value;
    this.#file = file;
    this.#path = path;
  }

  text(name: string): string {
    const value = this.#value[name];
    if (typeof value === 'string' && value !== '') return value;
    throw refused(this.#file, `${this.#path}${name} is missing`);
  }

  /** A text that becomes a part of an address. */
  name(name: string): string {
    const value = this.text(name);
    if (isName(value)) return value;
    throw refused(this.#file, `${this.#path}${name} is no name`);
  }

  texts(name: string): readonly string[] {
    const value = this.#value[name] ?? [];
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    throw refused(this.#file, `${this.#path}${name} is no list of texts`);
  }

  entries<T>(name: string, read: (name: string, of: Reader) => T): readonly T[] {
    const value = record(this.#value[name]);
    if (value === undefined) throw refused(this.#file, `${this.#path}${name} is missing`);
    return Object.entries(value).map(([key, each]) => {
      const path = `${this.#path}${name}.${key}`;
      const found = record(each);
      if (found === undefined || !isName(key)) throw refused(this.#file, `${path} is no object with a name`);
      return read(key, new Reader(found, this.#file, `${path}.`));
    });
  }
}
