import { describe, expect, test } from 'vitest';
import table from '../../base-url-table.json' with { type: 'json' };
import { SvcClient, SvcError } from '../src/index.ts';
import { json, Stage } from './stage.ts';

const made = (baseUrl: string) => new SvcClient({ baseUrl, apiKey: null, token: null }).baseUrl;

describe('the table that all SDKs share', () => {
  test.each(table.cases)('$given', ({ given, baseUrl }) => {
    if (baseUrl === null) expect(() => made(given)).toThrow(SvcError);
    else expect(made(given)).toBe(baseUrl);
  });

  test.each(table.cases.filter(({ baseUrl }) => baseUrl !== null))(
    'the accepted form of $given is accepted again, and the platform reads it the same',
    ({ given, baseUrl }) => {
      expect(made(baseUrl ?? '')).toBe(baseUrl);
      expect(new URL(`${baseUrl}/health`).href).toBe(new URL(given.replace(/\/*$/, '/health')).href);
    },
  );

  test('names every address once', () => {
    expect(new Set(table.cases.map(({ given }) => given)).size).toBe(table.cases.length);
  });
});

test.each([
  ['https://svc.example?a', 'more than host'],
  ['https://svc.example/#a', 'more than host'],
  ['https://a@svc.example', 'more than host'],
  ['ftp://svc.example', 'neither http nor https'],
  ['https://svc.example/a b', 'no address'],
  ['', 'needs the address'],
])('the refusal of %s names its reason', (given, why) => {
  expect(() => made(given)).toThrow(why);
});

test('the path of a request is appended to the path of the address as given', async () => {
  await using stage = await Stage.open(json({}));
  await stage.client({ baseUrl: `${stage.address.replace('http', 'HTTP')}/a%2Fb/C//` }).health();
  expect(stage.seen[0]?.target).toBe('/a%2Fb/C/health');
});
