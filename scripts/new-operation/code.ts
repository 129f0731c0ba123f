import { conformancePath } from './entry.ts';
import { kebab } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

export function handlerPath({ group, resource, id }: NewOperation): string {
  return `functions/groups/${group}/${resource}/${kebab(id)}.ts`;
}

/** A handler that compiles and refuses every call until it is written. It takes what the handlers of the group take. */
export function handlerStub({ group, id }: NewOperation, handlers: string): string {
  const { parameters, imports } = handlersOf(handlers, group);
  const unused = parameters.map(({ name, type }) => `_${name}: ${type}`).join(', ');
  return `import type { Handler } from '../../../http/handler.ts';
${imports.map((line) => `${line}\n`).join('')}
export function ${id}(${unused}): Handler<'${id}'> {
  return () => Promise.reject(new Error('${unfinished(`load, decide and write in ${id}`)}'));
}
`;
}

/** `handlers.ts` of the group with the operation in the object that it returns. */
export function registered(text: string, { group, resource, id }: NewOperation): string {
  const line = `import { ${id} } from './${resource}/${kebab(id)}.ts';\n`;
  const { parameters } = handlersOf(text, group);
  const entry = `    ${id}: ${id}(${parameters.map(({ name }) => name).join(', ')}),\n`;
  const end = /,?\s*\};\n\}\n$/.exec(text);
  if (end === null) throw new Error(`functions/groups/${group}/handlers.ts has no object of handlers`);
  const before = text.slice(0, end.index);
  return afterImports(`${before}${before.endsWith('{') ? '' : ','}\n${entry}  };\n}\n`, line);
}

/** The parameters of the function that makes the handlers of a group, and imports of their types for a file one folder deeper. */
function handlersOf(text: string, group: string) {
  const list = new RegExp(`${group}Handlers\\(([^)]*)\\): GroupHandlers`).exec(text)?.[1];
  if (list === undefined) throw new Error(`functions/groups/${group}/handlers.ts has no ${group}Handlers`);
  const parameters = [...list.matchAll(/(\w+): ([^,<]+(?:<[^>]*>)?)/g)].map(([, name = '', type = '']) => ({
    name,
    type: type.trim(),
  }));
  const types = new Set(parameters.flatMap(({ type }) => type.match(/\w+/g) ?? []));
  const imports = [...text.matchAll(/^import type \{([^}]*)\} from '(\.[^']*)';/gm)].flatMap(
    ([, names = '', path = '']) => {
      const used = names.split(',').filter((name) => types.has(name.trim()));
      const deeper = path.startsWith('./') ? `.${path}` : `../${path}`;
      return used.length === 0
        ? []
        : [`import type { ${used.map((name) => name.trim()).join(', ')} } from '${deeper}';`];
    },
  );
  return { parameters, imports };
}

function describeName({ id }: NewOperation): string {
  return `describe${id.charAt(0).toUpperCase()}${id.slice(1)}`;
}

/** A conformance test that fails with its task until it is written. */
export function conformanceStub(operation: NewOperation, suite: string): string {
  const { group, id } = operation;
  const type = /const conformance: (\w+)/.exec(suite)?.[1] ?? 'Conformance';
  const imported = new RegExp(`^import (?:type )?\\{[^}]*\\b${type}\\b[^}]*\\} from '([^']*)';`, 'm');
  const from = imported.exec(suite)?.[1] ?? `./${group}.ts`;
  return `import { describe, expect, it } from 'vitest';
import type { ${type} } from '${from}';

export function ${describeName(operation)}(_conformance: ${type}): void {
  describe('${id}', () => {
    ${failingTest(operation)}
  });
}
`;
}

/** The test file of a group whose tests are not parts of one suite: the file opens its store itself, on each database. */
export function ownSuite(operation: NewOperation): Readonly<Record<string, string>> {
  const { group, id } = operation;
  const path = conformancePath(group, id);
  const name = describeName(operation);
  return {
    [path]: `import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { group } from '../../functions/compose/groups/${group}.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

export function ${name}(tested: TestedStore): void {
  describe(\`${id} on \${tested.title}\`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, (await group.collections?.()) ?? []);
    });
    afterAll(async () => {
      await store.close();
    });
    ${failingTest(operation)}
  });
}
`,
    [path.replace(/\.ts$/, '.test.ts')]: `import { ${name} } from './${group}-${kebab(id)}.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) ${name}(tested);
`,
  };
}

function failingTest({ id }: NewOperation): string {
  return `it('does what it promises', () => {
      expect.fail('${unfinished(`test each rule and each refusal of ${id} on every store`)}');
    });`;
}

const SUITE_CALL = /^ +(?:describe\w+\(conformance\)|const conformance: .*);\n/gm;

/** Whether a file calls the tests of its operations one by one, with the store that it opened. */
export function isSuite(text: string): boolean {
  return text.search(SUITE_CALL) >= 0;
}

/** The conformance suite of the group with the new tests at its end. */
export function inSuite(text: string, operation: NewOperation): string {
  const name = describeName(operation);
  const file = conformancePath(operation.group, operation.id).replace('test/conformance/', './');
  const calls = [...text.matchAll(SUITE_CALL)];
  const last = calls.at(-1);
  if (last === undefined) throw new Error(`test/conformance/${operation.group}.ts calls no tests`);
  const end = last.index + last[0].length;
  const indent = /^ +/.exec(last[0])?.[0] ?? '';
  const called = `${text.slice(0, end)}${indent}${name}(conformance);\n${text.slice(end)}`;
  return afterImports(called, `import { ${name} } from '${file}';\n`);
}

/** Formatting sorts the imports. */
function afterImports(text: string, line: string): string {
  const imports = [...text.matchAll(/^(?:import .*|} )from '[^']+';\n/gm)].at(-1);
  const end = imports === undefined ? 0 : imports.index + imports[0].length;
  return `${text.slice(0, end)}${line}${text.slice(end)}`;
}
