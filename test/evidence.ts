import type { CatalogOperation } from '../contracts/generate/catalog.ts';

/** A kind of test that each operation needs, and the files that are of this kind. */
const KINDS: Readonly<Record<string, RegExp>> = {
  'a parity test of catalogue and OpenAPI': /^contracts\/parity\.test\.ts$/,
  'a schema test': /^contracts\/validators(-\w+)?\.test\.ts$/,
  'a wire test of the TypeScript client': /^sdk\/typescript\/test\/wire\.test\.ts$/,
  'a wire test of the Python client': /^sdk\/python\/tests\/test_wire\.py$/,
  'a test against a real server':
    /^test\/system\/(?!two-instances).+\.test\.ts$|^functions\/groups\/server\/.+\.test\.ts$/,
  'a test on two instances': /^test\/system\/two-instances.*\.test\.ts$/,
  'a behaviour test': /^(test\/conformance|functions\/groups)\/.+\.ts$/,
};

const BEHAVIOUR = KINDS['a behaviour test'] as RegExp;

/** The files of the project, and those that tests reach. */
export interface Project {
  readonly textOf: (path: string) => string | undefined;
  readonly reached: ReadonlySet<string>;
  /** Methods of the test clients, by the operation that each calls. */
  readonly methods: ReadonlyMap<string, readonly string[]>;
}

/** The faults of an operation's evidence, as sentences. */
export function evidenceFaults(operation: CatalogOperation, project: Project): readonly string[] {
  const { tests } = operation.evidence;
  const lacking = Object.entries(KINDS)
    .filter(([, files]) => !tests.some((path) => files.test(path)))
    .map(([kind]) => `needs ${kind} in its evidence`);
  const behaviour = tests.filter((path) => BEHAVIOUR.test(path));
  const silent = behaviour.filter((path) => !names(operation, project.textOf(path) ?? '', project.methods));
  const unreached = behaviour.filter((path) => !project.reached.has(path));
  return [
    ...lacking,
    ...silent.map((path) => `${path} does not call it`),
    ...unreached.map((path) => `no test imports ${path}`),
  ].map((fault) => `${operation.id}: ${fault}`);
}

function names(
  { id, routes, sdk }: CatalogOperation,
  text: string,
  methods: ReadonlyMap<string, readonly string[]>,
): boolean {
  const words = [id, ...(sdk === null ? [] : [sdk.typescript]), ...routes.map(({ path }) => path)];
  return (
    words.some((word) => text.includes(word)) ||
    (methods.get(id) ?? []).some((method) => text.includes(`.${method}(`))
  );
}

/** The methods of a test client, by the operation that the body of each calls. */
export function clientMethods(texts: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const text of texts) {
    let method = '';
    for (const line of text.split('\n')) {
      method = /^ {2}(?:async )?(\w+)\(/.exec(line)?.[1] ?? method;
      const operation = /(?:operations|#handlers)\.(\w+)\(/.exec(line)?.[1];
      if (operation !== undefined) found.set(operation, [...(found.get(operation) ?? []), method]);
    }
  }
  return found;
}
