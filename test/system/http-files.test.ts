import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import catalog from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import golden from '../../sdk/wire/requests.json' with { type: 'json' };
import { type RunningService, startService } from '../support/service.ts';
import { requestsIn } from './http-file.ts';
import { root } from './program.ts';

/** The requests of `docs/http`, read as editors read them and sent to a service. */

const folder = join(root, 'docs/http');
const files = readdirSync(folder).map((file) => ({
  group: file.replace(/\.http$/, ''),
  // Without the server, an address is a path.
  requests: requestsIn(readFileSync(join(folder, file), 'utf8'), { server: '' }),
}));
const cases = golden.cases.filter((each) => each.case === 'example');

test('there is a request for each operation, in the file of its group', () => {
  const published = catalog.operations.filter(({ stability }) => stability !== 'internal');
  const named = files.flatMap(({ group, requests }) => requests.map(({ name }) => `${group} ${name}`));
  expect(named.toSorted()).toEqual(published.map(({ group, id }) => `${group} ${id}`).toSorted());
});

test('each is the request with which the clients are tested', () => {
  for (const { name, method, url, headers, body } of files.flatMap(({ requests }) => requests)) {
    const found = cases.find(({ operation }) => operation === name)?.expect;
    const type = headers['content-type']?.split('; boundary=')[0];
    const sent = type === undefined ? headers : { ...headers, 'content-type': type };
    expect([method, url, sent], String(name)).toEqual([found?.method, found?.target, found?.headers]);
    const json =
      found?.body !== null && found?.body !== undefined && 'json' in found.body ? found.body.json : null;
    if (json !== null) expect(canonicalJson(JSON.parse(body ?? '')), String(name)).toBe(json);
    else expect(body !== undefined, String(name)).toBe(found?.body !== null);
  }
});

describe('a service accepts the requests', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  test.each(files)('of $group', async ({ requests }) => {
    for (const { name, method, url, headers, body } of requests) {
      const form = headers['content-type']?.startsWith('multipart/') === true;
      const bytes = form ? `${body?.replaceAll('\n', '\r\n')}\r\n` : body;
      const sent = bytes === undefined ? {} : { body: bytes };
      const answer = await service.call({ method, path: url, headers, ...sent });
      const { status } = answer;
      const code = status >= 400 ? (answer.json<{ code?: string }>().code ?? '') : '';
      const operation = catalog.operations.find(({ id }) => id === name);
      const documented = [...(operation?.problems ?? []), ''];
      expect(documented, `${name} ${status}`).toContain(code);
      expect([400, 405, 413, 415, 500], `${name} ${code}`).not.toContain(status);
      expect(code, String(name)).not.toBe('route_not_found');
    }
  });
});
