import * as fc from 'fast-check';
import type { Json } from '../../kernel/canonical-json.ts';
import type { RecordValue } from './record-key.ts';

/** Few texts, so that values often match. Some sort differently by UTF-16 units, some are longer than an index value. */
export const words = fc.constantFrom(
  '',
  'a',
  'ab',
  'a\0b',
  '\uE000',
  '😀',
  '😀a',
  '1',
  'true',
  'null',
  'x'.repeat(701),
  `${'x'.repeat(700)}y`,
  `${'x'.repeat(699)}é`,
  '\uD7FF',
  '\u{10FFFF}',
  '\u{10FFFF}a',
);

export const numbers = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 1.5, 2, 1e300, -1e300, 5e-324, Number.MAX_VALUE, 2 ** 53),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

export const scalars: fc.Arbitrary<string | number | boolean | null> = fc.oneof(
  words,
  numbers,
  fc.boolean(),
  fc.constant(null),
);

const values: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: scalars },
  { weight: 1, arbitrary: fc.array(scalars, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.record({ b: scalars }) },
);

const partitionKeys = fc.constantFrom(
  'p',
  'q',
  'p/q',
  '\uE000',
  '😀',
  'p'.repeat(400),
  `${'p'.repeat(399)}q`,
);
const ids = fc.constantFrom('1', '2', '10', 'é', '\uE000', '😀', 'i'.repeat(361), `${'i'.repeat(360)}j`);

export const records: fc.Arbitrary<RecordValue> = fc.record(
  {
    id: ids,
    partitionKey: partitionKeys,
    type: fc.constantFrom('', 'note', 'rag.chunk'),
    revision: fc.integer({ min: 1, max: 3 }),
    metadata: fc.record(
      { a: values, b: values, documentId: values, c: values },
      { requiredKeys: [], noNullPrototype: true },
    ),
    extra: values,
  },
  { requiredKeys: ['id', 'partitionKey', 'type'], noNullPrototype: true },
) as fc.Arbitrary<RecordValue>;

/** The paths of the policy in the tests; `/metadata/c` stays without an index. */
export const indexedPaths = ['/metadata/a', '/metadata/b'];

export const paths = fc.constantFrom(
  '/metadata/a',
  '$.metadata.a',
  '/metadata/b',
  '/metadata/c',
  '/metadata/a/0',
  '/metadata/a/b',
  '/metadata/documentId',
  '/type',
  '/ID',
  '/partitionkey',
  '/Revision',
  '/extra',
  '/missing',
  '/__proto__',
  '/constructor',
);
