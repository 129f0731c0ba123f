import { describe, expect, test } from 'vitest';
import type { McpCall } from './envelope.ts';
import { McpError } from './errors.ts';
import { mirrorFieldsOf } from './header-fields.ts';
import { checkNotification, type Revision, revisionOf, revisions } from './revisions.ts';

const HEADER = 'MCP-Protocol-Version';
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const NEWEST = '2026-07-28';

function callOf(method: string, params: object = {}): McpCall {
  return { id: 1, method, params: { ...params } } as McpCall;
}

const meta = (version: unknown) => ({ _meta: { [VERSION]: version } });
const fieldsOf = (...versions: readonly string[]) =>
  mirrorFieldsOf(versions.flatMap((each) => [HEADER, each]));

/** The revision, or the code of the refusal. */
function judged(call: McpCall, versions: readonly string[], served: readonly Revision[] = revisions) {
  try {
    return revisionOf(call, fieldsOf(...versions), served);
  } catch (error) {
    return error instanceof McpError ? error.code : error;
  }
}

describe('the revision of a request', () => {
  test.each<[what: string, params: object, versions: string[], expected: string | number]>([
    ['in both places', meta(NEWEST), [NEWEST], NEWEST],
    ['in the header alone', {}, [NEWEST], -32602],
    ['in the header, and another key in the body', { _meta: { progressToken: 1 } }, [NEWEST], -32602],
    ['in the body alone', meta(NEWEST), [], -32020],
    ['in the body alone, as a number', meta(1), [], -32020],
    ['in the body, as a number', meta(1), [NEWEST], -32602],
    ['in the body, another in the header', meta(NEWEST), ['2025-11-25'], -32020],
    ['in the header, another in the body', meta('2025-11-25'), [NEWEST], -32020],
    ['in the header twice', meta(NEWEST), [NEWEST, NEWEST], -32020],
    ['nowhere', {}, [], '2025-03-26'],
    ['nowhere, with a _meta that is no object', { _meta: 5 }, [], '2025-03-26'],
    ['2025-11-25', {}, ['2025-11-25'], '2025-11-25'],
    ['2025-06-18', {}, ['2025-06-18'], '2025-06-18'],
    ['2025-03-26', {}, ['2025-03-26'], '2025-03-26'],
    ['an older one in both places', meta('2025-06-18'), ['2025-06-18'], '2025-06-18'],
    ['an older one twice', {}, ['2025-06-18', '2025-06-18'], -32020],
    ['two older ones', meta('2025-06-18'), ['2025-11-25'], -32020],
    ['one before all that are known', {}, ['2024-11-05'], -32022],
    ['an unknown one', {}, ['2025-11-26'], -32022],
    ['an unknown one in both places', meta('v999'), ['v999'], -32022],
    ['none, in an empty header', {}, [''], -32022],
  ])('%s', (_, params, versions, expected) => {
    expect(judged(callOf('tools/list', params), versions)).toBe(expected);
  });

  test.each<[what: string, params: object, versions: string[], expected: string | number]>([
    ['2025-11-25', { protocolVersion: '2025-11-25' }, [], '2025-11-25'],
    ['2025-06-18', { protocolVersion: '2025-06-18' }, [], '2025-06-18'],
    ['2025-03-26', { protocolVersion: '2025-03-26' }, [], '2025-03-26'],
    ['an older one than all', { protocolVersion: '2024-11-05' }, [], '2025-11-25'],
    ['the newest, which has no initialize', { protocolVersion: NEWEST }, [], '2025-11-25'],
    ['an unknown one', { protocolVersion: 'v999' }, [], '2025-11-25'],
    ['nothing', {}, [], '2025-11-25'],
    ['one, and another in the header', { protocolVersion: '2025-03-26' }, ['2025-06-18'], '2025-03-26'],
    ['one, and an unknown one in the header', { protocolVersion: '2025-03-26' }, ['v9'], '2025-03-26'],
    ['one, and two headers', { protocolVersion: '2025-03-26' }, ['2025-03-26', '2025-03-26'], -32020],
    ['one, and the newest in the header', { protocolVersion: '2025-03-26' }, [NEWEST], -32602],
    ['one, and the newest in the body', { protocolVersion: '2025-03-26', ...meta(NEWEST) }, [], -32020],
    [
      'one, and the newest in both places',
      { protocolVersion: '2025-03-26', ...meta(NEWEST) },
      [NEWEST],
      NEWEST,
    ],
  ])('of initialize that asks for %s', (_, params, versions, expected) => {
    expect(judged(callOf('initialize', params), versions)).toBe(expected);
  });
});

describe('fewer revisions', () => {
  const list = callOf('tools/list');
  const asks = (protocolVersion: string) => callOf('initialize', { protocolVersion });

  test('only the newest: as if the others were unknown', () => {
    const served = [NEWEST] as const;
    expect(judged(list, [], served)).toBe(-32020);
    expect(judged(list, ['2025-11-25'], served)).toBe(-32022);
    expect(judged(asks('2025-11-25'), [], served)).toBe(-32022);
    expect(judged(callOf('tools/list', meta(NEWEST)), [NEWEST], served)).toBe(NEWEST);
  });

  test('one older: it alone is agreed on, and a request without a header is of another', () => {
    const served = [NEWEST, '2025-06-18'] as const;
    expect(judged(asks('2025-11-25'), [], served)).toBe('2025-06-18');
    expect(judged(list, ['2025-06-18'], served)).toBe('2025-06-18');
    expect(judged(list, ['2025-11-25'], served)).toBe(-32022);
    expect(judged(list, [], served)).toBe(-32022);
  });

  test('without the newest it is refused like an unknown one', () => {
    const served = ['2025-11-25'] as const;
    expect(judged(callOf('tools/list', meta(NEWEST)), [NEWEST], served)).toBe(-32022);
    expect(judged(callOf('tools/list'), [NEWEST], served)).toBe(-32022);
  });

  test('the refusal says what is served and what to do, in words and as values', () => {
    const served = [NEWEST, '2025-06-18'] as const;
    expect(() => revisionOf(asks('2024-11-05'), fieldsOf(), [NEWEST])).toThrow(
      'Unsupported protocol version: this endpoint serves 2026-07-28; set the client to one of these revisions',
    );
    expect(() => revisionOf(list, fieldsOf(), [NEWEST])).toThrow(
      'Header mismatch: MCP-Protocol-Version is missing; this endpoint serves 2026-07-28; set the client to one of these revisions',
    );
    expect(() => revisionOf(list, fieldsOf('hostile words'), served)).toThrow(
      expect.objectContaining({
        status: 400,
        message: expect.not.stringContaining('hostile') as string,
        data: { supported: served, requested: 'hostile words' },
      }),
    );
    // A client that names its version in the body chooses among the revisions that have it there, if there is one.
    const supporting = (supported: readonly string[]): unknown =>
      expect.objectContaining({ data: { supported, requested: 'v9' } });
    const named = callOf('tools/list', meta('v9'));
    expect(() => revisionOf(named, fieldsOf('v9'), served)).toThrow(supporting([NEWEST]));
    expect(() => revisionOf(named, fieldsOf('v9'), ['2025-06-18'])).toThrow(supporting(['2025-06-18']));
    expect(() => revisionOf(callOf('initialize', { protocolVersion: 5 }), fieldsOf(), [NEWEST])).toThrow(
      expect.objectContaining({ data: { supported: [NEWEST], requested: '' } }),
    );
  });
});

test('a notification may lack the version, and names a served one else', () => {
  expect(checkNotification(fieldsOf(), revisions)).toEqual({ isNewest: false });
  expect(checkNotification(fieldsOf(), [NEWEST])).toEqual({ isNewest: true });
  expect(checkNotification(fieldsOf('2025-06-18'), revisions)).toEqual({ isNewest: false });
  expect(checkNotification(fieldsOf(NEWEST), revisions)).toEqual({ isNewest: true });
  const codeOf = (...versions: string[]) =>
    expect.objectContaining({ code: versions.length > 1 ? -32020 : -32022 });
  expect(() => checkNotification(fieldsOf('2024-11-05'), revisions)).toThrow(codeOf('x'));
  expect(() => checkNotification(fieldsOf(NEWEST, NEWEST), revisions)).toThrow(codeOf('x', 'y'));
});
