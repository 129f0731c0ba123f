import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CatalogOperation, CatalogParameter } from '../catalog.ts';
import { drift, write } from '../disk.ts';
import { fixtureSource } from '../fixture.ts';
import type { Schema } from '../schema.ts';
import { type ContractSource, collectModels, readSource } from '../source.ts';
import { sdkContract } from './build-ir.ts';
import { PYTHON_GENERATED, pythonOutputs } from './python.ts';
import { docstring, pythonLiteral, pythonType } from './python-text.ts';

const source = readSource(process.cwd());
const fixture = fixtureSource(source.catalogSchema);
const made = (contract: ContractSource) => pythonOutputs(sdkContract(contract));
const file = (outputs: ReadonlyMap<string, string>, name: string) =>
  outputs.get(`sdk/python/src/svc_client/${name}`) ?? expect.fail(`there is no ${name}`);

/** The fixture with its first operation changed. */
function changed(patch: Partial<CatalogOperation>, more: readonly CatalogParameter[] = []): ContractSource {
  const [first, ...rest] = fixture.catalog.operations;
  const one = first ?? expect.fail();
  const operation = { ...one, ...patch, parameters: [...one.parameters, ...more] };
  return { ...fixture, catalog: { ...fixture.catalog, operations: [operation, ...rest] } };
}

const parameter = (name: string, place: CatalogParameter['in'] = 'query'): CatalogParameter => ({
  in: place,
  name,
  required: false,
  schema: { type: 'string', maxLength: 9 },
  description: `About ${name}.`,
});

describe('names', () => {
  test.each([
    'close',
    'with_options',
    'wait_for_execution_run',
    'find_canonical_document',
    'with_raw_response',
    'base_url',
    'import',
    '_hidden',
    '__init__',
  ])('of methods cannot be %s', (python) => {
    expect(() => made(changed({ sdk: { typescript: 'listParcels', python } }))).toThrow(python);
  });

  test.each(['options', 'request', 'self', 'depotId'])('of arguments cannot be %s', (name) => {
    expect(() => made(changed({}, [parameter(name)]))).toThrow('argument');
  });

  test('of arguments are the key only where none is taken', () => {
    const named = [parameter('idempotencyKey')];
    expect(file(made(changed({}, named)), '_generated/operations.py')).toContain('"idempotency_key"');
    const idempotency = {
      requirement: 'supported',
      location: { in: 'header', name: 'Idempotency-Key' },
    } as const;
    const keyed = { mutation: 'write', completion: 'atomic', idempotency } as const;
    expect(() => made(changed(keyed, named))).toThrow('idempotency_key');
  });

  test('of arguments that are Python keywords get an underscore', () => {
    const outputs = made(changed({}, [parameter('from'), parameter('2nd'), parameter('If-Match', 'header')]));
    const stub = file(outputs, '_generated/client.pyi');
    for (const name of ['from_', '_2nd', 'if_match']) expect(stub).toContain(`${name}: str | None = None`);
    const operations = file(outputs, '_generated/operations.py');
    expect(operations).toContain('ParameterSpec("from", "from_")');
    expect(operations).toContain('headers=(ParameterSpec("If-Match", "if_match"),)');
  });

  test('of methods are those of the catalog, in each class', () => {
    const outputs = made(fixture);
    for (const name of ['client', 'async_client']) {
      const stub = file(outputs, `_generated/${name}.pyi`);
      for (const method of ['list_parcels', 'find_parcel', 'ingest_parcel', 'put_bytes']) {
        expect(stub.match(new RegExp(`def ${method}\\(`, 'g'))).toHaveLength(3);
      }
      expect(stub).not.toContain('peek');
    }
  });
});

describe('models', () => {
  const withModels = (models: Readonly<Record<string, Schema>>, answer: string) => {
    const all = Object.fromEntries([...fixture.models].map(([name, { schema }]) => [name, schema]));
    const contract = changed({
      responses: [{ status: 200, mediaType: 'application/json', schema: answer, description: 'It.' }],
    });
    const outputs = made({ ...contract, models: collectModels({ all: { ...all, ...models } }) });
    return file(outputs, '_generated/models.py');
  };
  const text: Schema = { description: 'Text.', type: 'string', maxLength: 9 };
  const model = (properties: Readonly<Record<string, Schema>>): Schema => ({
    description: 'A model.',
    type: 'object',
    properties,
    required: [],
    examples: [{}],
  });

  test('whose members are no names, or names of types, are written as calls', () => {
    for (const name of ['a-b', 'from', '__private', 'str', 'list', 'Literal']) {
      const py = withModels({ Odd: model({ [name]: text, plain: text }) }, 'Odd');
      expect(py).toContain(`Odd = TypedDict(\n    "Odd",\n    {\n        "${name}": "NotRequired[str]",`);
      expect(py).toContain(`  \`${name}\`: Text.`);
    }
    expect(withModels({ Odd: model({ plain: text, type: text }) }, 'Odd')).toContain(
      'class Odd(TypedDict):\n    """A model."""\n\n    plain: NotRequired[str]\n',
    );
  });

  test('that alias a type are defined after that type', () => {
    const list = (of: string): Schema => ({
      description: `A list of ${of}.`,
      type: 'array',
      maxItems: 9,
      items: { $ref: `#/$defs/${of}` },
      examples: [[]],
    });
    const py = withModels({ A: list('B'), B: list('C'), C: list('Leaf'), Leaf: model({ a: text }) }, 'A');
    const at = (line: string) => py.indexOf(line);
    expect(at('C: TypeAlias = list[Leaf]')).toBeGreaterThan(at('class Leaf(TypedDict)'));
    expect(at('B: TypeAlias = list[C]')).toBeGreaterThan(at('C: TypeAlias'));
    expect(at('A: TypeAlias = list[B]')).toBeGreaterThan(at('B: TypeAlias'));
  });

  test('are all exported', () => {
    const outputs = made(source);
    const models = file(outputs, '_generated/models.py');
    for (const { name } of sdkContract(source).models) {
      expect(models).toContain(`    "${name}",\n`);
      expect(file(outputs, 'models.py')).toContain(`    ${name} as ${name},\n`);
    }
  });
});

test('the cache of Python beside the modules is not drift', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sdk-drift-'));
  const outputs = made(fixture);
  write(folder, outputs, [PYTHON_GENERATED]);
  const beside = (name: string) => {
    mkdirSync(dirname(join(folder, PYTHON_GENERATED, name)), { recursive: true });
    writeFileSync(join(folder, PYTHON_GENERATED, name), '');
    return drift(folder, outputs, [PYTHON_GENERATED]);
  };
  expect(beside('__pycache__/models.cpython-311.pyc')).toEqual([]);
  expect(beside('stray.py')).toEqual([`${PYTHON_GENERATED}/stray.py`]);
  rmSync(folder, { recursive: true });
});

describe('text', () => {
  test('in docs cannot end its string or begin an escape', () => {
    expect(docstring(['a """ b \\n c'])).toBe('"""a \\"\\"\\" b \\\\n c"""\n');
    expect(docstring(['says "it"'])).toBe('"""says "it"\n"""\n');
    expect(docstring(['one', '', 'Args:\n    a: b'], '    ')).toBe(
      '    """one\n\n    Args:\n        a: b\n    """\n',
    );
    const long = docstring([`Args:\n    name: ${'word '.repeat(60)}`]);
    for (const line of long.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(110);
    expect(long).toContain('\n        word');
  });

  test('of values', () => {
    expect([null, true, false, 'a"b', 5].map(pythonLiteral)).toEqual([
      'None',
      'True',
      'False',
      '"a\\"b"',
      '5',
    ]);
  });

  test('of types', () => {
    const literal = (values: readonly (string | number | boolean)[]) =>
      pythonType({ kind: 'literal', values }, 'request');
    expect(literal(['a', 1, true])).toBe('Literal["a", 1, True]');
    // Python has no float literals in types.
    expect(literal([0.5])).toBe('float');
    const list = { kind: 'array', items: { kind: 'nullable', of: { kind: 'json' } } } as const;
    expect([pythonType(list, 'request'), pythonType(list, 'response', 'm.')]).toEqual([
      'Sequence[object | None]',
      'list[m.JsonValue | None]',
    ]);
  });

  test('is below the longest line', () => {
    for (const [path, whole] of made(source)) {
      if (!path.endsWith('.py')) continue;
      for (const line of whole.split('\n')) expect(line.length, `${path}: ${line}`).toBeLessThanOrEqual(120);
    }
  });
});
