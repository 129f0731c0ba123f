import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import catalog from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import golden from '../../sdk/wire/requests.json' with { type: 'json' };
import { type RunningService, startService } from '../support/service.ts';
import { type FileRequest, requestsIn } from './http-file.ts';
import { stateOf, storeResultsOfWork } from './http-file-state.ts';
import { root } from './program.ts';

/** The requests of `docs/http`, read as editors read them and sent to a service. */

const folder = join(root, 'docs/http');
const files = readdirSync(folder).map((file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  // Without the server, an address is a path.
  return { group: file.replace(/\.http$/, ''), text, requests: requestsIn(text, { server: '' }) };
});
const cases = golden.cases.filter((each) => each.case === 'example');

test('there is a request for each operation, in the file of its group', () => {
  const published = catalog.operations.filter(({ stability }) => stability !== 'internal');
  const named = files.flatMap(({ group, requests }) => requests.map(({ name }) => `${group} ${name}`));
  expect(named.toSorted()).toEqual(published.map(({ group, id }) => `${group} ${id}`).toSorted());
});

test('each is the request with which the clients are tested, with the values of the variables', () => {
  for (const { name, method, url, headers, body } of files.flatMap(({ requests }) => requests)) {
    const found = cases.find(({ operation }) => operation === name)?.expect;
    const type = headers['content-type']?.split('; boundary=')[0];
    const sent = type === undefined ? headers : { ...headers, 'content-type': type };
    expect([method, sent], String(name)).toEqual([found?.method, found?.headers]);
    expect(placed(url, found?.target), String(name)).toBe(found?.target);
    const json =
      found?.body !== null && found?.body !== undefined && 'json' in found.body ? found.body.json : null;
    if (json !== null) expect(canonicalJson(JSON.parse(body ?? '')), String(name)).toBe(json);
    else expect(body !== undefined, String(name)).toBe(found?.body !== null);
  }
});

/** The address with the placeholder in the place of a variable that another request of the file gives its value. */
function placed(url: string, target = ''): string {
  const wanted = target.split('/');
  return url
    .split('/')
    .map((segment, at) =>
      wanted[at] === 'sample-1' && /^(acme|a-1|2026)$/.test(segment) ? 'sample-1' : segment,
    )
    .join('/');
}

/** Requests that are refused in the state that `stateOf` stores. Every other one succeeds. */
const REFUSED: Readonly<
  Record<string, { readonly status: number; readonly code: string; readonly reason: string }>
> = {
  replayCanonicalOutbox: {
    status: 409,
    code: 'outbox_event_not_dead_lettered',
    reason: 'the event of the file waits for its delivery; one in the dead letters has failed several times',
  },
};

describe('a service that has what the requests name refuses none but those of the list', () => {
  test.each(files)('of $group', async ({ group, text, requests }) => {
    const database = mkdtempSync(join(tmpdir(), 'svc-http-file-'));
    onTestFinished(() => rmSync(database, { recursive: true, force: true }));
    await storeResultsOfWork(database);
    const service = await startService({ folder: database });
    onTestFinished(() => service.close());
    const outcomes: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const [turn, { name }] of requests.entries()) {
      const values = await stateOf(group, { service, requests, turn });
      const request = requestsIn(text, { server: '', ...values })[turn];
      const { status, body } = await answerTo(service, request as FileRequest);
      const refused = REFUSED[name ?? ''];
      const code = status < 300 ? '' : ` ${/"code":"(\w+)"/.exec(body)?.[1]}`;
      outcomes[name ?? ''] = status < 300 ? 'succeeds' : `${status}${code}`;
      expected[name ?? ''] = refused === undefined ? 'succeeds' : `${refused.status} ${refused.code}`;
    }
    expect(outcomes).toEqual(expected);
  });

  test('and the list names requests of the files', () => {
    const names = files.flatMap(({ requests }) => requests.map(({ name }) => name));
    expect(names).toEqual(expect.arrayContaining(Object.keys(REFUSED)));
  });
});

describe('a reader who sends a file from its top', () => {
  test('removes nothing where the operation can say what it would remove', () => {
    const bodies = files.flatMap(({ requests }) => requests.map(({ name, body }) => ({ name, body })));
    const dry = bodies.filter(({ body }) => /"dryRun"/.test(body ?? ''));
    expect(dry.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'pruneExecutionRuntimeMaintenance',
        'reconcileExecutionRuntimeDispatch',
        'pruneTraces',
      ]),
    );
    for (const { name, body } of dry)
      expect(JSON.parse(body ?? ''), String(name)).toMatchObject({ dryRun: true });
  });

  test.each(files)('sees in $group a mark at each request that removes, after all others', ({ text }) => {
    const marks = text
      .split(/^###.*$/m)
      .slice(1)
      .map((request) => {
        const [, mark = ''] = /^# (replaces|cancels|deletes)$/m.exec(request) ?? [];
        const removes = /^DELETE |\/restore$|"replaceExisting": true/m.test(request);
        expect(mark !== '', request).toBe(removes);
        return ['', 'replaces', 'cancels', 'deletes'].indexOf(mark);
      });
    expect(marks).toEqual(marks.toSorted((one, other) => one - other));
  });
});

function answerTo(service: RunningService, { method, url, headers, body }: FileRequest) {
  const form = headers['content-type']?.startsWith('multipart/') === true;
  const bytes = form ? `${body?.replaceAll('\n', '\r\n')}\r\n` : body;
  return service.call({ method, path: url, headers, ...(bytes === undefined ? {} : { body: bytes }) });
}
