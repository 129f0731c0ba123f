import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { startService } from '../support/service.ts';
import { Canaries, type SearchPlace } from './canary.ts';
import { expectAsked, startCanaryModel } from './canary-provider.ts';
import { type CanarySubject, canaryScope, exercise, filesIn, placesOf, type Spoken } from './canary-run.ts';
import { executionGrantSettings, executionOperations } from './matrix-execution.ts';
import { providerOperations } from './matrix-providers.ts';
import { recordGrantSettings, recordOperations } from './matrix-records.ts';
import { freshTenant } from './target.ts';

const verbose = { 'Server:LogLevel': 'debug' };
const everyone = {
  principal: 'all@project.example',
  tenants: ['*'],
  operations: ['read', 'write', 'dispatch', 'export', 'restore', 'admin'],
};
const heartbeat = 'heartbeatExternalExecutionLease';
const issuers = new Set(['leaseCanonicalOutbox', 'leaseExternalExecutionRun', heartbeat]);
const secretKinds = ['api-key', 'token', 'lease-token'] as const;

/** An open service with API keys in clear. */
async function withKeys(): Promise<CanarySubject> {
  const canaries = new Canaries();
  const [one, two] = [canaries.make('api-key'), canaries.make('api-key')];
  const model = await startCanaryModel(canaries);
  const service = await startService({
    settings: { ...verbose, ...model.settings, 'Server:ApiKeys:0': one, 'Server:ApiKey': two },
  });
  return { service, canaries, model, trusted: async () => ({ 'X-Svc-Api-Key': one }) };
}

/** A service outside Development: an API key, and tokens of an issuer. */
async function withTokens(): Promise<CanarySubject> {
  const canaries = new Canaries();
  const key = canaries.make('api-key');
  const model = await startCanaryModel(canaries);
  const { productId: product, workerId: worker } = canaryScope;
  const runs = { product, worker, tenants: [], handlers: [], operations: executionOperations };
  const service = await startIssuedService([everyone], {
    ...verbose,
    ...model.settings,
    ...executionGrantSettings([[everyone.principal, runs]], serviceAudience),
    ...recordGrantSettings(
      [[everyone.principal, { space: canaryScope.tenantId, operations: recordOperations }]],
      serviceAudience,
    ),
    ...recordGrantSettings(
      [[everyone.principal, { space: canaryScope.tenantId, operations: providerOperations }]],
      serviceAudience,
      'Server:ProviderAccess',
    ),
    'Server:ApiKeys:0': key,
  });
  const mint = () => service.issuer.mint({ email: everyone.principal, audience: serviceAudience });
  const trusted = async () => ({
    'X-Svc-Api-Key': key,
    'X-Serverless-Authorization': `Bearer ${canaries.plant('token', await mint())}`,
  });
  return { service, canaries, model, trusted };
}

/** How a secret may stand in what leaks it. */
const leaks: Readonly<Record<string, (text: string) => string | Buffer>> = {
  'in a sentence': (text) => `{"message":"refused ${text}"}`,
  'by its beginning': (text) => `Unexpected token '${text.slice(0, 10)}'`,
  'by its end': (text) => `…${text.slice(-24)}`,
  'among bytes': (text) => Buffer.concat([Buffer.from([0, 255, 1]), Buffer.from(text), Buffer.from([254])]),
  'in hex': (text) => Buffer.from(text).toString('hex'),
  'as UTF-16': (text) => Buffer.from(`xx${text}yy`, 'utf16le'),
  'misread as UTF-16': (text) => Buffer.from(text).toString('utf16le'),
  'with every byte escaped': (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join(''),
  'as a part of a URL': (text) => `?token=${encodeURIComponent(text)}`,
  reversed: (text) => Array.from(text).reverse().join(''),
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in base64 behind one byte': (text) => Buffer.from(`x${text}yy`).toString('base64url'),
  'in base64 behind two bytes': (text) => Buffer.from(`xx${text}yy`).toString('base64'),
};

describe.each([
  ['with API keys', withKeys],
  ['with tokens', withTokens],
])('J01: of a service %s', (_, start) => {
  const printed: string[] = [];
  let subject: CanarySubject;
  let spoken: readonly Spoken[];
  let places: ReturnType<typeof placesOf>;

  beforeAll(async () => {
    const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation((...args: unknown[]) => void printed.push(inspect(args))),
    );
    const streams = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text)) > 0),
    );
    subject = await start();
    spoken = await exercise(subject);
    for (const spy of [...spies, ...streams]) spy.mockRestore();
    places = placesOf(subject.service, spoken);
  });
  afterAll(async () => {
    await subject.service.close();
    await subject.model?.close();
  });

  const hits = (
    where: readonly SearchPlace[],
    kinds: readonly ((typeof secretKinds)[number] | 'payload')[],
  ) => subject.canaries.hits(where, kinds);

  test('the operations were called, rightly and wrongly, and left something to search', () => {
    expect(places.answers.length).toBeGreaterThan(10);
    expect(places.problems.length).toBeGreaterThan(300);
    expect(places.log.filter(({ content }) => String(content).includes('"a request '))).toHaveLength(
      spoken.length,
    );
    expect(places.files.map(({ name }) => name)).toContain('svc.canonical.sqlite');
    for (const kind of [...secretKinds, 'payload'])
      expect(subject.canaries.planted.map((each) => each.kind)).toContain(kind);
    // A copy of the tenant holds them all, and went back.
    const of = (operation: string) => places.answers.filter((each) => each.operation === operation);
    expect(hits(of('exportCanonicalTenant'), ['payload'])).not.toEqual([]);
    expect(of('restoreCanonicalTenant').map(({ answer }) => answer.status)).toContain(204);
    // Runs were read, with all that their owner put there, and went through the hands of a worker.
    const ofRuns = [
      'getExecutionRun',
      'getExecutionRunHistory',
      'getExecutionRunArtifact',
      'getExecutionRunCheckpoint',
      'reportExternalExecutionLease',
      'putExternalExecutionLeaseArtifact',
    ];
    for (const operation of ofRuns) expect(hits(of(operation), ['payload']), operation).not.toEqual([]);
    // A record was read with all that its owner put there.
    const ofRecords = ['getCollection', 'getRecord', 'queryRecords', 'searchRecords'];
    for (const operation of ofRecords) expect(hits(of(operation), ['payload']), operation).not.toEqual([]);
    // The search finds texts that the database must hold, which proves that it reads the files.
    expect(hits(places.files, ['payload'])).not.toEqual([]);
  });

  test('the model got its key with every kind of call, and said it in every kind of answer', () => {
    expectAsked(subject.model!, spoken);
  });

  test('no log line and nothing printed holds a secret or a value of a request', () => {
    expect(hits(places.log, [...secretKinds, 'payload'])).toEqual([]);
    expect(hits([{ name: 'the console', content: printed.join('\n') }], [...secretKinds, 'payload'])).toEqual(
      [],
    );
  });

  test('no problem holds a secret or a value of a request', () => {
    // The exceptions: a handler and a collection that are missing are answered with the name that the request asked for, and a start
    // without a handler with the ids that workers of the same tenant have named.
    const missing =
      /No handler is registered under the id \\?"\w+\\?"|Collection '\w+' does not exist|You may start: [\w., -]+/g;
    const problems = places.problems.map(({ name, content }) => ({
      name,
      content: content.replaceAll(missing, ''),
    }));
    expect(hits(problems, [...secretKinds, 'payload'])).toEqual([]);
  });

  test('no answer holds a secret, but for the lease token in the one that issues it', () => {
    const issuing = places.answers.filter(({ operation }) => issuers.has(operation));
    const others = places.answers.filter(({ operation }) => !issuers.has(operation));
    expect(hits(others, secretKinds)).toEqual([]);
    expect(hits(issuing, ['api-key', 'token'])).toEqual([]);
    const tokens = subject.canaries.planted.filter(({ kind }) => kind === 'lease-token');
    expect(tokens.length).toBeGreaterThan(0);
    // A heartbeat returns the whole lease of a run to the worker that proves it.
    const heartbeats = places.answers.filter(({ operation }) => operation === heartbeat);
    expect(heartbeats.length).toBeGreaterThan(0);
    const issued = hits(issuing, ['lease-token']).length - hits(heartbeats, ['lease-token']).length;
    expect(issued).toBe(tokens.length);
  });

  test('no file holds a secret', () => {
    expect(hits(places.files, secretKinds)).toEqual([]);
  });

  test('J04: nothing shows a secret of the settings', () => {
    const { settings } = subject.service;
    const shown = [
      inspect(settings, { depth: Infinity, showHidden: true, getters: true }),
      inspect(subject.service, { depth: Infinity, showHidden: true }),
      JSON.stringify(settings),
      ...[...settings.security.apiKeys, settings.security.apiKey, settings.providers.list[0]?.ApiKey].flatMap(
        (secret) => [
          String(secret),
          `${JSON.stringify({ secret })}${inspect(Object.entries(secret ?? {}))}${inspect(structuredClone(secret))}`,
        ],
      ),
    ];
    expect(
      hits(
        shown.map((content, n) => ({ name: `view ${n}`, content })),
        secretKinds,
      ),
    ).toEqual([]);
    for (const secret of [settings.security.apiKeys[0], settings.providers.list[0]?.ApiKey])
      expect(secret?.reveal()).toContain('canary');
  });

  /** Some secrets of each kind, and tokens in the form of a JWT. */
  const sample = () => {
    const { planted } = subject.canaries;
    const ofKind = [...secretKinds, 'payload'].flatMap((kind) =>
      planted.filter((each) => each.kind === kind).slice(0, 8),
    );
    return [...ofKind, ...planted.filter(({ text }) => text.startsWith('eyJ'))];
  };

  test('a secret that leaks anywhere is found', () => {
    expect(new Set(sample().map(({ kind }) => kind))).toEqual(new Set([...secretKinds, 'payload']));
    for (const { kind, text } of sample())
      for (const [form, leak] of Object.entries(leaks))
        expect(hits([{ name: 'here', content: leak(text) }], [kind]), `${kind} ${form}`).toContain(
          `${kind} in here`,
        );
  });

  test('one leak among all log lines, problems or files is found', () => {
    const [key] = subject.canaries.planted;
    for (const all of [places.log, places.problems, places.files] as const) {
      const at = Math.floor(all.length / 2);
      const leaking = all.map(({ name, content }, n): SearchPlace => {
        const bytes = Buffer.from(content as string);
        return { name, content: n === at ? Buffer.concat([bytes, Buffer.from(key?.text ?? '')]) : bytes };
      });
      expect(new Set(hits(leaking, secretKinds))).toEqual(new Set([`${key?.kind} in ${all[at]?.name}`]));
    }
  });
});

describe('J01: an internal failure', () => {
  test('a store that cannot be opened says nothing of the request', async () => {
    const canaries = new Canaries();
    const settings = {
      ...verbose,
      'CanonicalStore:DatabasePath': `/dev/null/${canaries.make('token')}/a.sqlite`,
    };
    const service = await startService({ settings });
    const spoken = await exercise({ service, canaries, trusted: async () => ({}), model: null });
    const { log, problems } = placesOf(service, spoken);
    expect(spoken.some(({ answer }) => answer.status === 503)).toBe(true);
    expect(canaries.hits([...log, ...problems], ['token', 'payload', 'api-key'])).toEqual([]);
    await service.close();
  });

  test('the error about an unreadable stored value does not quote it', async () => {
    const canaries = new Canaries();
    const secret = canaries.make('payload');
    const service = await startService({ settings: verbose });
    const path = `/canonical/tenants/${freshTenant()}`;
    const document = {
      tenantId: path.slice(19),
      documentType: 'd',
      id: 'i',
      schemaVersion: '1',
      data: { secret },
    };
    const body = { idempotencyKey: 'k', mutations: [{ document }] };
    expect((await service.call({ method: 'POST', path: `${path}/transactions`, body })).status).toBe(200);
    const database = new DatabaseSync(join(service.folder, 'svc.canonical.sqlite'));
    database.exec(
      `UPDATE records SET body = '${secret} is no JSON', head = '${secret}' WHERE body IS NOT NULL`,
    );
    database.close();
    const answer = await service.call({ method: 'GET', path: `${path}/documents/d/i` });
    expect(answer.status).toBe(500);
    expect(service.lines.join()).toContain('failure');
    const places = service.lines.map((content) => ({ name: 'log', content }));
    expect(canaries.hits([...places, { name: 'problem', content: answer.body }], ['payload'])).toEqual([]);
    expect(canaries.hits(filesIn(service.folder), ['payload'])).not.toEqual([]);
    await service.close();
  });

  const refusedKeys: readonly (readonly [where: string, argument: (key: string) => string])[] = [
    ['as a key that is none', (key) => `--Server:ApiKey=${key} \u00fc`],
    ['as a list without a number', (key) => `--Server:ApiKeys=${key}`],
    ['without its option', (key) => key],
  ];
  const faultsOf = (argument: string) =>
    loadConfiguration({ host: 'embedded', env: {}, argv: [argument], readFile: () => undefined }).faults;
  const quotes = (argument: (key: string) => string): string[] => {
    const canaries = new Canaries();
    const faults = faultsOf(argument(canaries.make('api-key')));
    expect(faults.length).toBeGreaterThan(0);
    return canaries.hits([{ name: 'fault', content: faultsText(faults) }], ['api-key']);
  };

  test.each(refusedKeys)(
    'J04: a configuration that is refused does not quote a key given %s',
    (_, argument) => {
      expect(quotes(argument)).toEqual([]);
    },
  );

  // A hash is no secret; a key that was put there by mistake is one.
  test('J04: a configuration that is refused does not quote a key given in the place of its hash', () => {
    expect(quotes((key) => `--Server:ApiKeyHashes:0=${key}`)).toEqual([]);
  });
});
