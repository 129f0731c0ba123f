import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hosts, type WireHost } from './fixture/hosts.ts';
import { expectProblem, request, send } from './fixture/raw-client.ts';

/** Undecoded path segments that are refused with 400 in the place of a parameter. */
const refused: readonly (readonly [id: string, what: string, segment: string])[] = [
  ['E01', 'an encoded slash', 'a%2Fb'],
  ['E01', 'an encoded slash in lower case', 'a%2fb'],
  ['E02', 'a backslash', 'a\\b'],
  ['E02', 'an encoded backslash', 'a%5Cb'],
  ['E03', 'an encoded percent sign', 'a%25b'],
  ['E03', 'a bare percent sign', 'a%'],
  ['E04', 'an encoded question mark', 'a%3Fb'],
  ['E05', 'an encoded number sign', 'a%23b'],
  ['E05', 'a bare number sign', 'a#b'],
  ['E06', 'a slash encoded twice', 'a%252Fb'],
  ['E06', 'a slash encoded three times', 'a%25252Fb'],
  ['E06', 'a letter encoded twice', 'a%2541'],
  ['E06', 'dots encoded twice', '%252e%252e'],
  ['E07', 'the %u form', 'a%u002fb'],
  ['E08', 'an overlong slash', 'a%C0%AFb'],
  ['E08', 'an overlong slash of three bytes', 'a%E0%80%AFb'],
  ['E09', 'truncated UTF-8', '%E0%A4%A'],
  ['E09', 'a lone continuation byte', '%80'],
  ['E10', 'NUL', 'a%00b'],
  ['E11', 'CR LF', 'a%0D%0Ab'],
  ['E11', 'a tab', 'a%09b'],
  ['E12', 'a dot', '.'],
  ['E12', 'two dots', '..'],
  ['E12', 'encoded dots', '%2e%2e'],
  ['E12', 'a dot and an encoded dot', '.%2E'],
  ['E06', 'a letter encoded once', '%61cme'],
  ['E06', 'lower-case digits of an encoding', 'caf%c3%a9'],
  ['E13', 'nothing', ''],
  ['E14', 'a space', '%20'],
  ['E14', 'a leading space', '%20a'],
  ['E14', 'a trailing no-break space', 'a%C2%A0'],
  ['E15', '300 characters', 'a'.repeat(300)],
  ['E18', 'combining marks that are not composed', 'e%CC%81'],
  ['E19', 'a right-to-left override', 'a%E2%80%AEb'],
  ['E20', 'a zero-width space', 'a%E2%80%8Bb'],
  ['E21', 'an encoded lone surrogate', '%ED%A0%80'],
  ['E21', 'bytes that are not ASCII', 'a\xfcb'],
];

/** Segments that look odd and are plain names, with the value that must reach the handler. */
const accepted: readonly (readonly [id: string, segment: string, value: string])[] = [
  ['E16', 'a%EF%BC%8Fb', 'a\uff0fb'],
  ['E17', 'a%E2%88%95b', 'a\u2215b'],
  ['E18', '%C3%A9', '\u00e9'],
  ['E22', 'trailing.', 'trailing.'],
  ['E22', 'a;param=1', 'a;param=1'],
  ['E22', '__proto__', '__proto__'],
  ['E22', '__id7__', '__id7__'],
  ['E22', 'con', 'con'],
  ['event ids', '0192:3', '0192:3'],
  ['event ids', '0192%3A3', '0192:3'],
  ['event ids', 'a%2Bb+c', 'a+b+c'],
];

describe.each(hosts)('paths on $name', ({ start }) => {
  let host: WireHost;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host.stop());

  test.each(refused)('%s: %s in the place of a parameter is refused', async (_id, _what, segment) => {
    const path = `/canonical/tenants/${segment}/echo`;
    const answer = await send(host.port, request('POST', path, ['Content-Type: application/json'], '{}'));
    expectProblem(answer, 400);
    if (segment.length > 3) expect(answer.body).not.toContain(segment);
  });

  test.each(accepted)('%s: %s is a plain name', async (_id, segment, value) => {
    const answer = await send(host.port, request('GET', `/items/${segment}`));
    expect(answer.status, answer.body).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ params: { itemId: value } });
  });

  test.each([
    ['E23: an absolute-form target', 'http://evil.example/items/a', 400],
    ['E23: an absolute-form target of another scheme', 'ftp://evil.example/items/a', 400],
    ['E24: an empty segment', '/canonical/tenants/t//echo', 400],
    ['E24: two slashes at the start', '//items/a', 400],
    ['E24: a dot segment', '/./items/a', 400],
    ['E24: dot segments that would resolve', '/items/../items/a', 400],
    ['E24: another case', '/Items/a', 404],
    ['E24: an encoded literal', '/%69tems/a', 404],
    ['E24: a slash at the end', '/items/a/', 404],
    ['E24: a path of nothing', '/unknown', 404],
    ['a target of 13,000 bytes', `/items/a?${'b'.repeat(13_000)}`, 431],
  ])('%s is refused', async (_what, target, status) => {
    expectProblem(await send(host.port, request('GET', target)), status);
  });
});
