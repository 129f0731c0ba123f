import { cpSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Terraform's configuration as Node reads it, without Terraform. */

export const infraFolder = resolve(import.meta.dirname, '../../infra');

/** A block of HCL: attributes, and lists of nested blocks. An expression is a text `${...}`. */
export type Block = Readonly<Record<string, unknown>>;

export interface Configuration {
  /** By type and name. */
  readonly resource: Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;
  readonly data: Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;
  readonly variable: Readonly<Record<string, readonly Block[]>>;
  readonly output: Readonly<Record<string, readonly Block[]>>;
  readonly locals: Block;
}

interface Parser {
  parse(file: string, text: string): Promise<Record<string, unknown>>;
}

// HashiCorp's own parser as WebAssembly. Its types would bring those of browsers into the project.
const parser = createRequire(import.meta.url)('@cdktf/hcl2json') as Parser;

/** The module in this folder, without the folders below. Throws for what is no HCL. */
export async function readConfiguration(folder: string): Promise<Configuration> {
  const files = globSync('*.tf', { cwd: folder }).sort();
  const parts = await Promise.all(
    files.map((file) => parser.parse(file, readFileSync(join(folder, file), 'utf8'))),
  );
  const sections = ['resource', 'data', 'variable', 'output'] as const;
  const merged = Object.fromEntries(
    sections.map((section) => [section, mergedTypes(parts.map((part) => part[section]))]),
  ) as Pick<Configuration, (typeof sections)[number]>;
  const locals = parts.flatMap((part) => (part['locals'] ?? []) as readonly Block[]);
  return { ...merged, locals: Object.assign({}, ...locals) as Block };
}

function mergedTypes(parts: readonly unknown[]): Record<string, unknown> {
  const merged: Record<string, Record<string, unknown>> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries((part ?? {}) as Record<string, unknown>)) {
      merged[name] = Array.isArray(value)
        ? (value as unknown as Record<string, unknown>)
        : { ...merged[name], ...(value as Record<string, unknown>) };
    }
  }
  return merged;
}

export interface NamedResource {
  readonly type: string;
  readonly name: string;
  readonly block: Block;
}

export function resourcesOf({ resource }: Configuration): NamedResource[] {
  return Object.entries(resource).flatMap(([type, names]) =>
    Object.entries(names).flatMap(([name, blocks]) => blocks.map((block) => ({ type, name, block }))),
  );
}

/** Every text in a value, with its place. */
export function textsIn(value: unknown, place = ''): { readonly place: string; readonly text: string }[] {
  if (typeof value === 'string') return [{ place, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    textsIn(inner, place === '' ? key : `${place}.${key}`),
  );
}

export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A copy of `infra/` in a folder of its own, with texts of its files replaced, each once. */
export function copyOfInfra(...edits: readonly Edit[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-infra-'));
  cpSync(infraFolder, folder, {
    recursive: true,
    filter: (source) => !/[\\/](node_modules|\.terraform)([\\/]|$)/.test(source),
  });
  for (const { file, from, to } of edits) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const at = text.indexOf(from);
    if (at < 0) throw new Error(`${file} does not contain ${from}`);
    writeFileSync(path, text.slice(0, at) + to + text.slice(at + from.length));
  }
  return folder;
}
