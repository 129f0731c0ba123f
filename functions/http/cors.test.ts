import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { createCors } from './cors.ts';
import { readHeaders } from './headers.ts';
import type { RawResponse } from './message.ts';

const origin = 'https://app.example.com';
const cors = createCors({ allowedOrigins: [origin] });
const asked = (from: string) => readHeaders(['Origin', from]);

const valuesOf = (fields: RawResponse['headers'], name: string): string[] =>
  fields.filter(([field]) => field.toLowerCase() === name).map(([, value]) => value);

describe('the fields that a page of an allowed origin may read', () => {
  // Browsers let each page read `Last-Modified` (Fetch standard, 2.2.2), and apply the policy themselves.
  const leftOut = new Set(['Last-Modified', 'Content-Security-Policy']);
  const declared = Object.values(operations).flatMap(({ responses }) =>
    responses.flatMap(({ headers }) => headers),
  );
  const names = [...new Set(declared)].filter((name) => !leftOut.has(name));

  test.each(names)('are those of the contract: %s', (name) => {
    // A name that ends with a hyphen stands for all that begin with it.
    const sent = name.endsWith('-') ? `${name}author` : name;
    const [list = ''] = valuesOf(
      cors.answered(asked(origin), [[sent, 'x']]),
      'access-control-expose-headers',
    );
    expect(list.split(', ').filter((each) => each === sent)).toEqual([sent]);
  });

  test('are no others of the answer', () => {
    const fields = cors.answered(asked(origin), [['Set-Cookie', 'a=b']]);
    expect(valuesOf(fields, 'access-control-expose-headers').join()).not.toContain('Set-Cookie');
  });
});

describe('an answer that depends on another field too', () => {
  const own: RawResponse['headers'] = [
    ['ETag', '"1"'],
    ['vary', 'Accept'],
  ];

  test.each([origin, 'https://other.example'])('says both in one field, to %s', (from) => {
    const fields = cors.answered(asked(from), own);
    expect(valuesOf(fields, 'vary')).toEqual(['Origin, Accept']);
    expect(valuesOf(fields, 'etag')).toEqual(['"1"']);
  });

  test('stays as it is without allowed origins, and where the request could not be read', () => {
    expect(createCors({ allowedOrigins: [] }).answered(asked(origin), own)).toEqual(own);
    expect(cors.answered(null, own)).toEqual(own);
  });
});
