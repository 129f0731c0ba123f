import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fixtureSource } from '../fixture.ts';
import { type ContractSource, readSource } from '../source.ts';
import { SDK_FOLDERS, sdkOutputs } from './outputs.ts';
import { PACKAGE_NAMES } from './typescript-models.ts';

const source = readSource(process.cwd());
const fixture = fixtureSource(source.catalogSchema);
const outputs = sdkOutputs(fixture);
const output = (path: string) =>
  outputs.get(`sdk/typescript/${path}`) ?? expect.fail(`${path} is not generated`);
const client = output('src/generated/groups/depots.ts');
/** The comment and the head of a method. */
const methodText = (name: string) =>
  new RegExp(`\\n  /\\*\\*\\n(?:   \\*.*\\n)+?  ${name}\\([^]*?\\n  }\\n`).exec(client)?.[0] ??
  expect.fail(name);

describe('the client of another contract', () => {
  test('warns of what is preview, where it is called and in its types', () => {
    expect(methodText('ingestParcel')).toMatch(/\*\*Preview\*\*.*\n[^]*@beta\n/);
    expect(output('src/generated/models.ts')).toMatch(
      /Preview: may change in any release\.\n \*\n \* @beta\n \*\/\nexport type ParcelManifest/,
    );
    expect(output('api.md')).toMatch(/`ingestParcel\(request\)` \*\*preview\*\*/);
    expect(methodText('putBytes')).not.toMatch(/preview|@beta/i);
  });

  test('marks what is deprecated, and says what to use instead', () => {
    const text = methodText('findParcel');
    expect(text).toContain('**Deprecated** since 9.0.0, removed in 10.0.0: use `listParcels`.');
    expect(text).toContain('   * @deprecated since 9.0.0, removed in 10.0.0: use `listParcels`.');
    expect(output('api.md')).toContain('**deprecated**: `listParcels`');
    expect(output('src/generated/models.ts')).toMatch(/@deprecated\n {3}\*\/\n {2}readonly length: number/);
  });

  test('has no internal operations', () => {
    for (const [path, text] of outputs) expect(text, path).not.toMatch(/peek|SecretAnswer/i);
  });

  test('says shapes, bounds, problems, repeats and where the rule stands', () => {
    const text = methodText('ingestParcel').replaceAll(/\n {3}\* ?/g, ' ');
    expect(text).toContain('`POST /parcels`; needs the access operation `change` of `depot-policy`.');
    expect(text).toContain(
      'The request is a form of the parts `manifest`, `artifact`, at most 4,096 bytes together.',
    );
    expect(text).toContain(
      'your idempotency key, which goes into the header `Idempotency-Key` (in the contract: supported).',
    );
    expect(text).toContain(
      '@returns 202: `Parcel`. Taken. 204: no body. Nothing to do. 503: `Parcel`. A parcel that failed.',
    );
    expect(text).toContain('with the code `not_found` (404), `store_contention` (503).');
    expect(text).toContain('docs/reference/operations.md#ingestparcel');
    expect(methodText('listParcels')).toContain('@param depotId The depot. (at most 20 characters)');
  });

  test('escapes descriptions that would end a comment', () => {
    expect(output('src/generated/models.ts')).toContain('A parcel. *\\/ does not end this comment.');
  });

  test('takes the key of a call only where the contract takes it in a header', () => {
    expect(methodText('putBytes')).toContain('options: KeyedCallOptions = {}');
    expect(methodText('findParcel')).toContain('options: CallOptions = {}');
  });

  test('refuses a name that the client reserves', () => {
    const taken = (typescript: string): ContractSource => ({
      ...fixture,
      catalog: {
        ...fixture.catalog,
        operations: fixture.catalog.operations.map((operation) =>
          operation.id === 'putBytes' ? { ...operation, sdk: { python: 'x', typescript } } : operation,
        ),
      },
    });
    for (const name of [
      'then',
      'baseUrl',
      'withOptions',
      'findCanonicalDocument',
      'waitForExecutionRun',
      'toJSON',
      'constructor',
    ])
      expect(() => sdkOutputs(taken(name)), name).toThrow(name);
  });
});

test('no model hides another export of the package', () => {
  const index = ['index', 'common']
    .map((name) => readFileSync(`sdk/typescript/src/${name}.ts`, 'utf8'))
    .join('');
  const lists = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, names = '']) => names);
  const exported = lists
    .flatMap((names) => names.split(',').map((name) => name.trim()))
    .filter((name) => name !== '');
  const generated = ['Operations', 'JsonValue', 'JsonObject', 'JsonInput'];
  expect([...PACKAGE_NAMES].toSorted()).toEqual([...exported, ...generated].toSorted());
  const rename = (from: string, to: string): ContractSource => ({
    ...fixture,
    ...(JSON.parse(JSON.stringify({ catalog: fixture.catalog }).replaceAll(`"${from}"`, `"${to}"`)) as Pick<
      ContractSource,
      'catalog'
    >),
    models: new Map(
      [...fixture.models].map(([name, model]) =>
        name === from ? [to, { ...model, name: to }] : [name, model],
      ),
    ),
  });
  expect(() => sdkOutputs(rename('ParcelManifest', 'Call'))).toThrow('Call');
  expect(() => sdkOutputs(rename('ParcelManifest', 'ListParcelsParameters'))).toThrow(
    'ListParcelsParameters',
  );
  expect(() => sdkOutputs(rename('ParcelManifest', 'ParcelForm'))).not.toThrow();
});

test('everything that is in a folder of the SDKs is generated, and every operation is on the index', () => {
  const real = sdkOutputs(source);
  for (const folder of SDK_FOLDERS)
    expect([...real.keys()].some((path) => path.startsWith(folder))).toBe(true);
  const index = real.get('sdk/typescript/api.md') ?? '';
  for (const { sdk, stability } of source.catalog.operations)
    if (stability !== 'internal') expect(index).toContain(`\`${sdk?.typescript}(`);
});

describe('a group', () => {
  /** The fixture with its group under another name. */
  const renamed = (name: string): ContractSource => ({
    ...fixture,
    catalog: {
      ...fixture.catalog,
      groups: { [name]: { title: 'Depots', description: 'Depots.', position: 0 } },
      operations: fixture.catalog.operations.map((operation) => ({ ...operation, group: name })),
    },
  });

  test('is an entry of the package, with nothing to write by hand', () => {
    const { exports: entries } = JSON.parse(output('package.json')) as { exports: Record<string, unknown> };
    expect(Object.keys(entries)).toEqual([
      '.',
      './depots',
      './worker',
      './web',
      './replay',
      './package.json',
    ]);
    expect(entries['./depots']).toEqual({
      types: './dist/generated/clients/depots.d.ts',
      default: './dist/generated/clients/depots.js',
    });
    expect(output('src/generated/clients/depots.ts')).toContain(
      'class DepotsClient extends DepotsOperations',
    );
    expect(output('src/generated/client.ts')).toContain('flatten(Operations, [DepotsOperations]);');
    const other = sdkOutputs(renamed('parcel-depots'));
    expect(other.get('sdk/typescript/src/generated/clients/parcel-depots.ts')).toContain(
      'class ParcelDepotsClient extends',
    );
  });

  test('cannot take a name that the package has', () => {
    expect(() => sdkOutputs(renamed('worker'))).toThrow('worker');
    const parcel = fixture.models.get('Parcel') ?? expect.fail('Parcel');
    const models = new Map([...fixture.models, ['DepotsClient', { ...parcel, name: 'DepotsClient' }]]);
    const hidden: ContractSource = { ...fixture, models };
    const published = {
      ...hidden,
      catalog: {
        ...hidden.catalog,
        operations: hidden.catalog.operations.map((operation) =>
          operation.id === 'listParcels'
            ? {
                ...operation,
                responses: [
                  { status: 200, mediaType: 'application/json', schema: 'DepotsClient', description: 'It.' },
                ],
              }
            : operation,
        ),
      },
    };
    expect(() => sdkOutputs(published)).toThrow('DepotsClient');
  });

  test('gets the handwritten method for its operation', () => {
    const real = sdkOutputs(source);
    const clients = [...real.keys()].filter((path) => path.includes('/generated/clients/'));
    expect(clients).toHaveLength(Object.keys(source.catalog.groups).length);
    expect(clients.filter((path) => real.get(path)?.includes('  waitForExecutionRun('))).toEqual([
      'sdk/typescript/src/generated/clients/execution.ts',
    ]);
  });
});
