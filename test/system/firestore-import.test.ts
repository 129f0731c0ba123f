import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { imported } from '../../docs/coming-from/firestore/documents.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { compilerOnFiles, Reader } from './guides.ts';
import { Program, root } from './program.ts';

/** The import of Firestore documents into a tenant, which is killed and continued. */

const DOCUMENTS = 'projects/p/databases/(default)/documents';
const documentOf = (n: number) => ({
  name: `${DOCUMENTS}/claims/${n % 7 === 0 ? `${n}/notes/n1` : n}`,
  fields: { n: { integerValue: String(n) }, status: { stringValue: n % 2 === 0 ? 'even' : 'odd' } },
});
const COUNT = 730;
const CHUNKS = 8;

type Moment = 'before' | 'after';

/** Stands between the import and the service, and stops a commit before the service has it or before its answer is passed on. */
async function gate(address: string) {
  let commits = 0;
  let held: { readonly at: number; readonly moment: Moment } | null = null;
  let reached = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    const pass = async () => {
      commits += 1;
      const isHeld = commits === held?.at;
      if (isHeld && held?.moment === 'before') return reached.resolve();
      const answer = await fetch(`${address}${request.url}`, {
        method: request.method ?? '',
        headers: { 'content-type': 'application/json' },
        body: Buffer.concat(parts),
      });
      const body = await answer.text();
      if (isHeld) return reached.resolve();
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
    };
    request.on('end', () => void pass());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commits: () => commits,
    hold(at: number, moment: Moment): Promise<void> {
      commits = 0;
      held = { at, moment };
      reached = Promise.withResolvers();
      return reached.promise;
    },
    free() {
      commits = 0;
      held = null;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function readerWith(lines: readonly object[]) {
  const reader = await Reader.start();
  for (const name of ['import.ts', 'documents.ts'])
    await copyFile(join(root, 'docs/coming-from/firestore', name), join(reader.folder, name));
  await writeFile(join(reader.folder, 'e.ndjson'), lines.map((line) => JSON.stringify(line)).join('\n'));
  return reader;
}

const importing = (reader: Reader, address: string) =>
  new Program(['import.ts', 'e.ndjson', 'acme', '{"claims":["status"]}'], {
    cwd: reader.folder,
    env: { SVC_BASE_URL: address },
  });

const numberOf = ({ data }: { readonly data: object | null }) => (data as { readonly n: number }).n;

async function stored(reader: Reader, documentType: string, indexes = {}) {
  const client = new SvcClient({ baseUrl: reader.address });
  return client.queryCanonicalDocuments('acme', { documentType, indexes }).all();
}

test('an import that is killed at any point continues, and each document is written once', async () => {
  await using reader = await readerWith(Array.from({ length: COUNT }, (_, n) => documentOf(n)));
  await using way = await gate(reader.address);
  const kills: readonly (readonly [number, Moment])[] = [
    [1, 'before'],
    [1, 'after'],
    [3, 'before'],
    [3, 'after'],
  ];
  for (const [at, moment] of kills) {
    const reached = way.hold(at, moment);
    await using program = importing(reader, way.address);
    await Promise.race([reached, program.exit.then(() => Promise.reject(new Error(program.stderr)))]);
    program.signal('SIGKILL');
    await program.exit;
  }
  way.free();
  await using last = importing(reader, way.address);
  expect(await last.exit, last.stderr).toEqual({ code: 0, signal: null });
  expect(last.stdout).toContain(`done: ${COUNT} documents`);
  // Two chunks were noted by each of the last two that were killed.
  expect(way.commits()).toBe(CHUNKS - 4);

  const found = [...(await stored(reader, 'claims')), ...(await stored(reader, 'claims.notes'))];
  expect(found.map(numberOf).toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, n) => n));
  expect(new Set(found.map(({ revision }) => revision))).toEqual(new Set([1]));
  const even = (await stored(reader, 'claims', { status: 'even' })).map(numberOf);
  expect(even.toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 2 === 0 && n % 7 !== 0),
  );

  way.free();
  await using again = importing(reader, way.address);
  expect(await again.exit).toEqual({ code: 0, signal: null });
  expect(way.commits()).toBe(0);
});

test('a document that does not fit stops the import before anything is written', async () => {
  const long = { name: `${DOCUMENTS}/claims/${'x'.repeat(161)}`, fields: {} };
  await using reader = await readerWith([documentOf(1), long]);
  await using program = importing(reader, reader.address);
  expect((await program.exit).code).toBe(1);
  expect(program.stderr).toContain('is longer than 160 characters');
  expect(await stored(reader, 'claims')).toEqual([]);
});

test('every value of Firestore has a form in JSON', () => {
  const values = {
    nothing: { nullValue: null },
    yes: { booleanValue: true },
    small: { integerValue: '-7' },
    large: { integerValue: '9007199254740993' },
    half: { doubleValue: 0.5 },
    nan: { doubleValue: 'NaN' },
    time: { timestampValue: '2026-01-02T03:04:05.678901Z' },
    bytes: { bytesValue: 'AQI=' },
    other: { referenceValue: `${DOCUMENTS}/claims/7` },
    place: { geoPointValue: { latitude: 1.5 } },
    list: { arrayValue: { values: [{ stringValue: 'a' }, { arrayValue: {} }] } },
    map: { mapValue: { fields: { deep: { mapValue: {} } } } },
    vector: {
      mapValue: {
        fields: {
          __type__: { stringValue: '__vector__' },
          value: { arrayValue: { values: [{ doubleValue: 1 }, { doubleValue: 0.5 }] } },
        },
      },
    },
  };
  const name = `${DOCUMENTS}/claims/1042/notes/n1`;
  expect(imported({ name, fields: values }, 'acme', { 'claims.notes': ['time', 'yes', 'absent'] })).toEqual({
    tenantId: 'acme',
    documentType: 'claims.notes',
    id: '1042/n1',
    schemaVersion: '1',
    data: {
      nothing: null,
      yes: true,
      small: -7,
      large: '9007199254740993',
      half: 0.5,
      nan: 'NaN',
      time: '2026-01-02T03:04:05.678901Z',
      bytes: 'AQI=',
      other: 'claims/7',
      place: { latitude: 1.5, longitude: 0 },
      list: ['a', []],
      map: { deep: {} },
      vector: [1, 0.5],
    },
    indexes: { time: '2026-01-02T03:04:05.678901Z' },
  });
  expect(() => imported({ name, fields: { a: { newValue: 1 } } }, 'acme', {})).toThrow('not known');
  expect(() => imported({ name: `${DOCUMENTS}/claims` }, 'acme', {})).toThrow('no name of a document');
});

test('the compiler has nothing against the programs', async () => {
  const names = ['documents.ts', 'export.ts', 'import.ts'];
  const texts = names.map(
    async (name) => [name, await readFile(join(root, 'docs/coming-from/firestore', name), 'utf8')] as const,
  );
  expect(await compilerOnFiles(new Map(await Promise.all(texts)))).toBe('');
});
