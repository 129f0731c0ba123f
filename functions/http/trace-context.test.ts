import { describe, expect, test } from 'vitest';
import { echoChain } from '../../test/wire/fixture/echo.ts';
import { createLog, type LogEvent, type LogFormat } from '../kernel/log.ts';
import { type InjectedRequest, inject } from './host-inject.ts';
import { sentTrace, traceOf } from './trace-context.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';
const valid = `00-${id}-${span}-01`;

describe('traceparent', () => {
  test.each([
    [valid, '01'],
    [`00-${id}-${span}-00`, '00'],
    // Unknown flags are kept; a later version may hold more.
    [`00-${id}-${span}-ff`, 'ff'],
    [`cc-${id}-${span}-01`, '01'],
    [`01-${id}-${span}-01-what-the-future-holds`, '01'],
  ])('%s names a trace', (sent, flags) => {
    expect(traceOf(sent)).toEqual({ traceId: id, spanId: span, flags });
  });

  const faulty: [string, unknown][] = [
    ['is absent', undefined],
    ['is empty', ''],
    ['is a word', 'hello'],
    ['is a number', 7],
    ['has capitals', valid.toUpperCase()],
    ['has a capital in its trace id', valid.replace('b', 'B')],
    ['has a trace id of zeros', `00-${'0'.repeat(32)}-${span}-01`],
    ['has a span id of zeros', `00-${id}-${'0'.repeat(16)}-01`],
    ['has the version ff', `ff-${id}-${span}-01`],
    ['has the version ff and more', `ff-${id}-${span}-01-a`],
    ['has more than the version 00 has', `${valid}-a`],
    ['ends in a dash', `${valid}-`],
    ['has a short trace id', `00-${id.slice(1)}-${span}-01`],
    ['has a long span id', `00-${id}-${span}0-01`],
    ['has no flags', `00-${id}-${span}`],
    ['has one digit of flags', `00-${id}-${span}-1`],
    ['has other digits', `00-${id}-${span}-0g`],
    ['has another separator', valid.replaceAll('-', '_')],
    ['is in white space', ` ${valid}`],
    ['ends in white space', `${valid} `],
    ['has a line end', `${valid}\n`],
    ['is 10 kB', `${valid}${'0'.repeat(10_240)}`],
    ['is 10 kB of dashes', '-'.repeat(10_240)],
    ['is a list', `${valid},${valid}`],
    ['is a list of a later version', `01-${id}-${span}-01-a,${valid}`],
  ];
  test.each(faulty)('that %s names none', (_, sent) => {
    expect(traceOf(sent)).toBeUndefined();
  });

  test('counts once, in any spelling of the name', () => {
    expect(sentTrace({ rawHeaders: ['Host', 'a', 'TraceParent', valid] })?.traceId).toBe(id);
    expect(sentTrace({ rawHeaders: ['traceparent', valid, 'Traceparent', valid] })).toBeUndefined();
    expect(sentTrace({ rawHeaders: ['a', 'traceparent', 'b', valid] })).toBeUndefined();
    expect(sentTrace({ rawHeaders: [] })).toBeUndefined();
  });

  const called = async (request: InjectedRequest) => {
    const events: LogEvent[] = [];
    const answer = await inject(echoChain({ log: (event) => events.push(event) }), request);
    return { answer, event: events[0], text: `${answer.body}${JSON.stringify(answer.headers)}` };
  };

  test('is in the log line of a request, and in its problem document', async () => {
    const headers = { traceparent: valid };
    const read = await called({ method: 'GET', path: '/', headers });
    expect(read.event?.trace).toEqual({ traceId: id, spanId: span, flags: '01' });
    expect(read.text).not.toContain(id);
    for (const path of ['/fail', '/none']) {
      const refused = await called({ method: 'GET', path, headers });
      expect(refused.event?.trace?.traceId).toBe(id);
      expect(refused.answer.json()).toMatchObject({ traceId: id });
      expect(refused.text).not.toContain(span);
    }
  });

  test.each(faulty)('that %s is neither refused nor repeated', async (_, sent) => {
    if (typeof sent !== 'string' || /\n/.test(sent)) return;
    const given = { method: 'GET', headers: { traceparent: sent } };
    const { answer, event, text } = await called({ ...given, path: '/' });
    expect([answer.status, event?.trace]).toEqual([200, undefined]);
    if (sent.length > 5) expect(text).not.toContain(sent);
    const refused = await called({ ...given, path: '/none' });
    expect(refused.answer.json()).not.toHaveProperty('traceId');
    expect(refused.answer.json()).toMatchObject({ code: 'route_not_found' });
  });
});

describe('a log line', () => {
  const lineOf = (format: LogFormat | undefined, flags: string): unknown => {
    const lines: string[] = [];
    const log = createLog((line) => lines.push(line), undefined, undefined, format);
    log({ severity: 'INFO', message: 'a', trace: { traceId: id, spanId: span, flags } });
    return JSON.parse(lines[0] ?? '');
  };

  test.each([
    ['01', true],
    ['03', true],
    ['00', false],
    ['fe', false],
  ])('has the members that Cloud Logging links to its trace, with the flags %s', (flags, sampled) => {
    expect(lineOf('google', flags)).toEqual({
      severity: 'INFO',
      message: 'a',
      'logging.googleapis.com/trace': id,
      'logging.googleapis.com/spanId': span,
      'logging.googleapis.com/trace_sampled': sampled,
    });
  });

  test('has the members of OpenTelemetry elsewhere', () => {
    const line = { severity: 'INFO', message: 'a', trace_id: id, span_id: span, trace_flags: '01' };
    expect(lineOf('otel', '01')).toEqual(line);
    expect(lineOf(undefined, '01')).toEqual(line);
  });
});
