import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sharedFunctions, sharedNames, vagueIdentifiers } from './exported-names.ts';

const root = resolve(import.meta.dirname, '..');
const texts = new Map(
  globSync('functions/**/*.ts', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/\.(test|fixture)\.ts$/.test(path) && !path.includes('/generated/'))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
);

/** Names that several files may declare, with the reason. The list only shrinks. */
const allowed: Readonly<Record<string, string>> = {
  BATCH_HANDLER: 'each family of jobs names its handlers',
};

/** Names of functions that several files declare. The number only shrinks. */
const SHARED_FUNCTIONS_MAX = 77;

describe('an exported name', () => {
  test('has one declaration', () => {
    const found = [...sharedNames(texts)].map(([name, paths]) => `${name}: ${paths.join(', ')}`);
    expect(found.filter((line) => !((line.split(':')[0] ?? '') in allowed))).toEqual([]);
  });

  test('is not allowed twice where one file declares it', () => {
    const shared = sharedNames(texts);
    expect(Object.keys(allowed).filter((name) => !shared.has(name))).toEqual([]);
  });

  test('of a function has one declaration, but for those that had more before', () => {
    expect(sharedFunctions(texts).size).toBeLessThanOrEqual(SHARED_FUNCTIONS_MAX);
  });

  test('of two rooms is found, of the providers of one port it is not', () => {
    const planted = new Map([
      ['functions/http/a.ts', 'export interface Parcel {\n}\nexport const LIMIT = 1;'],
      ['functions/runs/b.ts', 'export class Parcel {}\nconst LIMIT = 2;'],
      ['functions/store/mysql/c.ts', 'export type Row = 1;'],
      ['functions/store/postgres/d.ts', 'export type Row = 2;'],
      ['functions/store/sqlite/e.ts', 'export type Place = 1;'],
      ['functions/blobs/files/f.ts', 'export type Place = 2;'],
    ]);
    expect([...sharedNames(planted)]).toEqual([
      ['Parcel', ['functions/http/a.ts', 'functions/runs/b.ts']],
      ['Place', ['functions/blobs/files/f.ts', 'functions/store/sqlite/e.ts']],
    ]);
  });

  test('of a function in two rooms is found', () => {
    const planted = new Map([
      ['functions/http/a.ts', 'export async function read() {}\nfunction own() {}'],
      ['functions/runs/b.ts', 'export function* read() {}\nexport function own() {}'],
    ]);
    expect([...sharedFunctions(planted).keys()]).toEqual(['read']);
  });

  test('of the real files is refused when a second file declares it', () => {
    const planted = new Map(texts).set('functions/rag/planted.ts', 'export interface RecordKey {}');
    expect(sharedNames(planted).get('RecordKey')).toEqual([
      'functions/rag/planted.ts',
      'functions/store/port.ts',
    ]);
  });
});

describe('an identifier', () => {
  const rooms = ['functions', 'contracts', 'cli', 'emulator', 'dispatcher', 'scripts', 'sdk/typescript/src'];
  const files = rooms
    .flatMap((room) => globSync(`${room}/**/*.ts`, { cwd: root }))
    .filter((path) => !/\.(test|fixture)\.ts$/.test(path));

  test('has the words of the field', () => {
    const found = files.flatMap((path) =>
      vagueIdentifiers(readFileSync(join(root, path), 'utf8')).map((word) => `${path}: ${word}`),
    );
    expect(found).toEqual([]);
    expect(files.length).toBeGreaterThan(1_000);
  });

  test('that is vague is found, and a text is not one', () => {
    const text = ['told', "tellNobody('say'); // said", 'readonly SaidAs: string; saying; stellar;'];
    expect(vagueIdentifiers(text.join('\n'))).toEqual(['told', 'tellNobody', 'SaidAs']);
  });
});
