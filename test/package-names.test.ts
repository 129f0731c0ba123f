import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { packageNameFaults } from './package-names.ts';

const root = resolve(import.meta.dirname, '..');
const patterns = [
  '*.md',
  '{docs,packages,sdk,examples,infra,dispatcher,create-svc-app}/**/*.{md,http,json,yaml,yml,toml,txt,service}',
  '{cli,functions,dispatcher,emulator,scripts,examples,sdk/typescript/src,create-svc-app}/**/*.{ts,mjs,js}',
  'infra/**/{*.mjs,*.sh,Dockerfile*,Containerfile*}',
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
      'infra/compose/start.mjs',
      'infra/image/Dockerfile',
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
  'npm init svc',
  'npm init -y svc@latest my-app',
  'npm create svc-server',
  'npm create create-svc-app',
  'npm create @svc-runtime',
  'npm init @svc-runtime/app@latest',
  'yarn create svc',
  'pnpm create svc-runtime',
  'bun create svc-web my-app',
  'npx create-svc',
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
  'npm init svc-app my-app -- --language python',
  'yarn create svc-app my-app',
  'pnpm create svc-app@latest my-app',
  'bun create svc-app my-app',
  'npx create-svc-app@latest my-app',
  'npm init -y',
  'npm create vite@latest svc',
  'pip install "$(ls /path/to/svc_runtime_client-*.whl)[async]"',
  'pip install svc-runtime-client[async]',
  'pip install <project>/sdk/python',
  'svc doctor',
  'npm run -s svc -- doctor',
  'npx vitest run',
])('accepts %s', (text) => {
  expect(packageNameFaults('a.md', `Run ${text} now.`)).toEqual([]);
});

test('reads the commands of an image, as a line and as a list', () => {
  const faults = (text: string) => packageNameFaults('Dockerfile', `FROM node\n${text}\nUSER node\n`);
  for (const text of ['RUN npm install -g svc', 'RUN ["npm", "install", "svc"]', 'CMD ["npx","svc-server"]'])
    expect(faults(text), text).not.toEqual([]);
  for (const text of ['RUN ["npm", "install", "@svc-runtime/server"]', 'CMD ["svc-server"]'])
    expect(faults(text), text).toEqual([]);
});
