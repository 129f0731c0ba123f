import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bans, importsOf } from '../../../test/structure.ts';

const src = resolve(import.meta.dirname, '../src');
const files = globSync('**/*.ts', { cwd: src }).sort();
const textOf = (path: string) => readFileSync(resolve(src, path), 'utf8');

const isWorker = (path: string) => path.startsWith('worker/');
const partsOfNode = new Set(['node:async_hooks', 'node:http', 'node:process', 'node:worker_threads']);

/**
 * The client must run on any platform: it imports only itself. The worker kit imports the client and Node, and the
 * client never imports the kit.
 */
function importFaults(path: string, text: string): string[] {
  const depth = path.split('/').length - 1;
  const specifiers = importsOf(text).map(({ specifier }) => specifier);
  if (!isWorker(path) && specifiers.some((specifier) => specifier.startsWith('./worker/')))
    return [`${path} imports the worker kit`];
  return specifiers
    .filter((specifier) => !isWorker(path) || !partsOfNode.has(specifier))
    .filter((specifier) => !specifier.startsWith('.') || specifier.split('../').length - 1 > depth)
    .map((specifier) => `${path} imports ${specifier}`);
}

/** Exceptions: what single files may use. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'world.ts': ['setTimeout', 'Math.random', 'performance.now'],
  'options.ts': ['fetch'],
  // Warnings of a worker without a log.
  'worker/log.ts': ['process'],
  'worker/signals.ts': ['process'],
  // Ids that handlers give to others must be unique over processes.
  'worker/steps/context-port.ts': ['randomness of node:crypto'],
};

function touchFaults(path: string, text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
  const found = bans.filter(({ pattern }) => pattern.test(code)).map(({ what }) => what);
  if (/\bprocess\b/.test(code) && path !== 'options.ts') found.push('process');
  if (/\bglobalThis\b/.test(code) && path !== 'options.ts') found.push('globalThis');
  return found.filter((what) => !allowed[path]?.includes(what)).map((what) => `${path} uses ${what}`);
}

test('the source is found', () => {
  expect(files).toContain('client.ts');
  expect(files).toContain('generated/client.ts');
});

describe('the imports of the client', () => {
  test('stay inside the client', () => {
    expect(files.flatMap((path) => importFaults(path, textOf(path)))).toEqual([]);
  });

  test.each([
    ['a part of Node', 'call.ts', `import { inspect } from 'node:util';`],
    ['a package', 'call.ts', `import ajv from 'ajv';`],
    ['the service', 'call.ts', `import type { A } from '../../../functions/kernel/world.ts';`],
    ['the worker kit', 'client.ts', `import { createWorker } from './worker/index.ts';`],
    ['a part of Node that the worker kit does not need', 'worker/worker.ts', `import 'node:fs';`],
    ['the package description', 'call.ts', `import { version } from '../package.json';`],
    ['what lies outside, from a folder', 'generated/client.ts', `import { a } from '../../test/stage.ts';`],
  ])('do not include %s', (_, path, text) => {
    expect(importFaults(path, text)).toHaveLength(1);
  });
});

describe('time, chance, network and environment', () => {
  test('are touched where they are handed in, and nowhere else', () => {
    expect(files.flatMap((path) => touchFaults(path, textOf(path)))).toEqual([]);
  });

  test.each([
    'setTimeout(a, 1)',
    'Math.random()',
    'Date.now()',
    'await fetch(a)',
    'process.env.A',
    'globalThis.fetch',
  ])('are found: %s', (text) => {
    expect(touchFaults('call.ts', text).length).toBeGreaterThan(0);
  });
});

test('every file but the generated ones can be read at once', () => {
  const long = files.filter(
    (path) => !path.startsWith('generated/') && textOf(path).split('\n').length > 200,
  );
  expect(long).toEqual([]);
});
