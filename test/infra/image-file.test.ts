import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { infraFolder } from './configuration.ts';
import { imageFileFaults } from './image-file.ts';

const text = readFileSync(join(infraFolder, 'image/Dockerfile'), 'utf8');

test('the Dockerfile follows the rules of a release', () => {
  expect(imageFileFaults(text)).toEqual([]);
});

test.each([
  ['docker.io/library/node:24-slim', 'docker.io/library/node:latest', 'is latest'],
  ['docker.io/library/node:24-slim', 'node', 'is latest'],
  ['docker.io/library/node:24-slim', 'node@sha256:0123', 'a digest is in the file'],
  ['FROM ${NODE_IMAGE}', 'FROM node:24', 'the argument NODE_IMAGE'],
  ['USER 10001:10001', 'USER node', 'the last user'],
  ['USER 10001:10001', '', 'the last user'],
  ['ENTRYPOINT ["node", "', 'ENTRYPOINT ["sh", "', 'the first process'],
  ['STOPSIGNAL SIGTERM', 'STOPSIGNAL SIGINT', 'SIGTERM'],
  ['RUN ["node"', 'RUN apt-get update\nRUN ["node"', 'a shell runs apt-get update'],
  ['ADD ${PACKAGE}', 'ADD https://example.com/a.tgz', 'is not pinned'],
  ['ENV NODE_ENV', 'ENV API_KEY=abc NODE_ENV', 'a secret stays in the image'],
  ['SVC_ENVIRONMENT=Production', 'SVC_ENVIRONMENT=Development', 'not Production'],
  ['HEALTHCHECK', '# HEALTHCHECK', 'no health check'],
  ['    PORT=5220 \\\n', '', 'the port that the image sets'],
  ['${process.env.PORT}', '5220', 'the port that the image sets'],
])('planted: %s becomes %s', (from, to, fault) => {
  expect(text).toContain(from);
  expect(imageFileFaults(text.replace(from, () => to)).join('\n')).toContain(fault);
});
