import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { importsOf } from '../structure.ts';

/** Modules of Node that only compute. */
const computing = /^node:(buffer|crypto|util)$/;

/** Facts about the code of a file, without types and imports of types. */
export interface Code {
  readonly imports: readonly string[];
  readonly waits: boolean;
  readonly hasFunction: boolean;
}

export function codeOf(path: string, text: string): Code {
  const code = stripTypeScriptTypes(text)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1');
  return {
    imports: importsOf(code).map(({ specifier }) =>
      specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
    ),
    waits: /\b(async|await|Promise)\b/.test(code),
    hasFunction: /\bfunction\b|=>|\bclass\b/.test(code),
  };
}

/**
 * The pure files of `functions/`: they have a function, wait for nothing, and import by value only pure files, the contract and
 * modules that compute. The files of `rules/` and `collections/search/` always count as pure.
 */
export function pureFiles(codes: ReadonlyMap<string, Code>): string[] {
  const candidates = [...codes].filter(([, { waits }]) => !waits);
  const pure = new Set(candidates.map(([path]) => path));
  const isPure = (target: string) =>
    pure.has(target) ||
    target.startsWith('contracts/') ||
    target.includes('/generated/') ||
    computing.test(target);
  for (let before = -1; before !== pure.size; ) {
    before = pure.size;
    for (const [path, { imports }] of candidates) if (!imports.every(isPure)) pure.delete(path);
  }
  const isRule = (path: string) => /\/rules\/|^functions\/collections\/search\//.test(path);
  return [...codes]
    .filter(([path, { hasFunction }]) => hasFunction && (isRule(path) || pure.has(path)))
    .map(([path]) => path);
}
