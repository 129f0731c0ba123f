import { conformancePath } from './entry.ts';
import { kebab, pascal } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

export function handlerPath({ group, resource, id }: NewOperation): string {
  return `functions/groups/${group}/${resource}/${kebab(id)}.ts`;
}

/** A handler that compiles and refuses every call until it is written. */
export function handlerStub({ group, id }: NewOperation): string {
  const type = `${pascal(group)}Dependencies`;
  return `import type { Handler } from '../../../http/handler.ts';
import type { ${type} } from '../dependencies.ts';

export function ${id}(_dependencies: ${type}): Handler<'${id}'> {
  return () => Promise.reject(new Error('${unfinished(`load, decide and write in ${id}`)}'));
}
`;
}

/** `handlers.ts` of the group with the operation in its last object. */
export function registered(text: string, { group, resource, id }: NewOperation): string {
  const line = `import { ${id} } from './${resource}/${kebab(id)}.ts';\n`;
  const end = text.lastIndexOf('  };');
  if (end < 0) throw new Error(`functions/groups/${group}/handlers.ts has no object of handlers`);
  return afterImports(`${text.slice(0, end)}    ${id}: ${id}(dependencies),\n${text.slice(end)}`, line);
}

export function describeName({ id }: NewOperation): string {
  return `describe${id.charAt(0).toUpperCase()}${id.slice(1)}`;
}

/** A conformance test that fails with its task until it is written. */
export function conformanceStub(operation: NewOperation): string {
  const { group, id } = operation;
  const type = group === 'execution' ? 'ExecutionConformance' : 'Conformance';
  return `import { describe, expect, it } from 'vitest';
import type { ${type} } from './${group}.ts';

export function ${describeName(operation)}(_conformance: ${type}): void {
  describe('${id}', () => {
    it('does what it promises', () => {
      expect.fail('${unfinished(`test each rule and each refusal of ${id} on every store`)}');
    });
  });
}
`;
}

/** The conformance suite of the group with the new tests at its end. */
export function inSuite(text: string, operation: NewOperation): string {
  const name = describeName(operation);
  const file = conformancePath(operation.group, operation.id).replace('test/conformance/', './');
  const calls = [...text.matchAll(/^ +(?:describe\w+\(conformance\)|const conformance: .*);\n/gm)];
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
