import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { packageNameFaults } from './package-names.ts';

const root = resolve(import.meta.dirname, '..');
const patterns = [
  '*.md',
  '{docs,packages,sdk,examples,infra,dispatcher,create-svc-app}/**/*.{md,http,json,yaml,yml,toml,txt,service}',
  '{cli,functions,dispatcher,emulator,scripts,examples,sdk/typescript/src,create-svc-app}/**/*.{ts,mjs,js}',
  'sdk/python/src/**/*.{py,pyi}',
  // The pages and programs of a new application, whose names the starter fills in.
  'create-svc-app/templates/**/*.template',
];
const files = patterns
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/(?:^|\/)(?:node_modules|dist|generated|_generated|\.terraform)\//.test(path))
  .filter((path) => !path.endsWith('.test.ts'));

test('no page, help text or example names a package of somebody else in the place of ours', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'docs/tool.md',
      'cli/main.ts',
      'packages/server/README.md',
      'create-svc-app/templates/python/README.md.template',
    ]),
  );
  const templates = [
    'typescript/package.json',
    'typescript/worker.ts',
    'python/README.md',
    'python/worker.py',
  ];
  for (const name of templates) expect(files).toContain(`create-svc-app/templates/${name}.template`);
  expect(files.flatMap((path) => packageNameFaults(path, readFileSync(join(root, path), 'utf8')))).toEqual(
    [],
  );
});

test.each([
  'npx svc',
  'npx svc@latest doctor',
  'npx -y svc init',
  'npm exec -- svc doctor',
  'npx --package svc-server svc',
  'npx --package=svc svc',
  'bunx svc',
  'pnpm dlx svc',
  'npm install svc',
  'npm i -g svc@0.6.0',
  'npm install --save-dev \\\n  svc-client',
  'pnpm add @svc/client',
  'pip install svc-client',
  'pip install svc_client',
  'pip3 install "svc-client[async]"',
  'uv add svc-runtime[async]',
  "import { a } from '@svc/client';",
  "import { a } from '@svc-runtime/web';",
])('finds %s', (text) => {
  expect(packageNameFaults('a.md', `Run ${text} now.`)).not.toEqual([]);
});

test.each([
  'npx @svc-runtime/server dev',
  'npx --package @svc-runtime/server svc doctor',
  'npx --no-install svc',
  'npx --no-install svc-server',
  'npm install @svc-runtime/client@0.7.0',
  'npm install /path/to/svc-runtime-client-*.tgz',
  'npm create svc-app@latest my-app',
  'pip install "$(ls /path/to/svc_runtime_client-*.whl)[async]"',
  'pip install svc-runtime-client[async]',
  'pip install <project>/sdk/python',
  'svc doctor',
  'npm run -s svc -- doctor',
  'npx vitest run',
])('accepts %s', (text) => {
  expect(packageNameFaults('a.md', `Run ${text} now.`)).toEqual([]);
});
