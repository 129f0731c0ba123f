import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import catalog from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import golden from '../../sdk/wire/requests.json' with { type: 'json' };
import { type RunningService, startService } from '../support/service.ts';
import { root } from './program.ts';

/** The requests of `docs/http`, read as editors read them and sent to a service. */

interface EditorRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The common part of the format of editors: variables, `###` between requests, `# @name`, a head, a blank line, a body. */
function requestsOf(text: string): readonly EditorRequest[] {
  const [start = '', ...parts] = text.split(/^### .*\n/m);
  const variables = new Map(
    [...start.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  return parts.map((part) => {
    const filled = part.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = variables.get(name);
      if (value === undefined) throw new Error(`there is no variable ${name}`);
      return value;
    });
    const [head = '', ...body] = filled.trimEnd().split('\n\n');
    const [name = '', line = '', ...fields] = head.split('\n');
    const [method = '', address = ''] = line.split(' ');
    return {
      name: name.replace('# @name ', ''),
      method,
      path: address.replace(variables.get('server') ?? '', ''),
      headers: Object.fromEntries(fields.map((field) => field.split(': ') as [string, string])),
      body: body.join('\n\n'),
    };
  });
}

const folder = join(root, 'docs/http');
const files = readdirSync(folder).map((file) => ({
  group: file.replace(/\.http$/, ''),
  requests: requestsOf(readFileSync(join(folder, file), 'utf8')),
}));
const cases = golden.cases.filter((each) => each.case === 'example');

test('there is a request for each operation, in the file of its group', () => {
  const published = catalog.operations.filter(({ stability }) => stability !== 'internal');
  const named = files.flatMap(({ group, requests }) => requests.map(({ name }) => `${group} ${name}`));
  expect(named.toSorted()).toEqual(published.map(({ group, id }) => `${group} ${id}`).toSorted());
});

test('each is the request with which the clients are tested', () => {
  for (const { name, method, path, headers, body } of files.flatMap(({ requests }) => requests)) {
    const found = cases.find(({ operation }) => operation === name)?.expect;
    const type = headers['content-type']?.split('; boundary=')[0];
    const sent = type === undefined ? headers : { ...headers, 'content-type': type };
    expect([method, path, sent], name).toEqual([found?.method, found?.target, found?.headers]);
    const json =
      found?.body !== null && found?.body !== undefined && 'json' in found.body ? found.body.json : null;
    if (json !== null) expect(canonicalJson(JSON.parse(body)), name).toBe(json);
    else expect(body !== '', name).toBe(found?.body !== null);
  }
});

describe('a service accepts the requests', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  test.each(files)('of $group', async ({ requests }) => {
    for (const { name, method, path, headers, body } of requests) {
      const form = headers['content-type']?.startsWith('multipart/') === true;
      const bytes = form ? `${body.replaceAll('\n', '\r\n')}\r\n` : body;
      const answer = await service.call({ method, path, headers, ...(body === '' ? {} : { body: bytes }) });
      const { status } = answer;
      const code = status >= 400 ? (answer.json<{ code?: string }>().code ?? '') : '';
      const operation = catalog.operations.find(({ id }) => id === name);
      const documented = [...(operation?.problems ?? []), ''];
      expect(documented, `${name} ${status}`).toContain(code);
      expect([400, 405, 413, 415, 500], `${name} ${code}`).not.toContain(status);
      expect(code, name).not.toBe('route_not_found');
    }
  });
});
