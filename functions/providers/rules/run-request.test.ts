import { describe, expect, test } from 'vitest';
import { rejectionOf } from './rejection.ts';
import { RUN_LIMITS } from './run-limits.ts';
import { inputHashOf, isPlan, namesOf, planRun, type RunRequest } from './run-request.ts';
import { localTargets, type ProviderTarget } from './target.ts';

const [ai] = localTargets as [ProviderTarget];
const chat: RunRequest = {
  capability: 'ai.chat',
  payload: { messages: [{ role: 'user', content: 'canary-4711' }] },
};
const plan = (more: Partial<RunRequest> = {}, target: ProviderTarget = ai) =>
  planRun(target, { ...chat, ...more }, RUN_LIMITS);
const payloadOf = (bytes: number) => {
  const around = Buffer.byteLength(JSON.stringify({ messages: [{ content: '', role: 'user' }] }));
  return { messages: [{ role: 'user', content: 'x'.repeat(bytes - around) }] };
};

describe('a run', () => {
  test.each<[string, Partial<RunRequest>, [string, string, string], string]>([
    [
      'capability',
      { capability: 'ai.embedding' },
      ['Unsupported', 'unsupported', 'unsupported_capability'],
      'use_supported_capability',
    ],
    [
      'capability that there is not',
      { capability: '__proto__' },
      ['Unsupported', 'unsupported', 'unsupported_capability'],
      'use_supported_capability',
    ],
    [
      'operation',
      { operation: 'stream' },
      ['Unsupported', 'unsupported', 'unsupported_operation'],
      'use_supported_capability',
    ],
    [
      'folder for artifacts',
      { artifactDirectory: '/etc' },
      ['Unsupported', 'unsupported', 'unsupported_artifact_directory'],
      'use_supported_capability',
    ],
    ['model', { modelId: 'large' }, ['Rejected', 'policy', 'model_not_allowed'], 'retry_with_redacted_input'],
    [
      'mode without a policy',
      { mode: 'autonomous' },
      ['Rejected', 'policy', 'unknown_mode'],
      'retry_with_redacted_input',
    ],
    [
      'payload of one byte too many',
      { payload: payloadOf(65_537) },
      ['Rejected', 'policy', 'input_limit'],
      'retry_with_smaller_input',
    ],
    [
      'payload that is wrong',
      { payload: {} },
      ['Rejected', 'schema', 'invalid_request'],
      'retry_with_stricter_structured_output_instructions',
    ],
    [
      'payload with half a surrogate pair',
      { payload: { messages: ['\ud800'] } },
      ['Rejected', 'schema', 'invalid_request'],
      'retry_with_stricter_structured_output_instructions',
    ],
    [
      'time of 0',
      { timeoutSeconds: 0 },
      ['Rejected', 'policy', 'invalid_timeout'],
      'retry_with_smaller_input',
    ],
    [
      'time of 301 s',
      { timeoutSeconds: 301 },
      ['Rejected', 'policy', 'timeout_exceeds_policy'],
      'retry_with_smaller_input',
    ],
    [
      'output of 0 bytes',
      { maxOutputBytes: 0 },
      ['Rejected', 'policy', 'invalid_output_limit'],
      'retry_with_redacted_input',
    ],
    [
      'output of a byte too many',
      { maxOutputBytes: 131_073 },
      ['Rejected', 'policy', 'output_limit_exceeds_policy'],
      'retry_with_smaller_input',
    ],
  ])('with another %s is refused before the provider is called', (_, more, words, advice) => {
    const outcome = plan(more);
    if (isPlan(outcome)) expect.fail('it is planned');
    const { status, failureClass, providerStatus, message } = outcome;
    expect([status, failureClass, providerStatus]).toEqual(words);
    expect(message).not.toContain('canary');
    expect(rejectionOf(outcome)).toMatchObject({
      category: words[2],
      contentUsable: false,
      processOutcome: 'not_started',
      retryRecommendation: advice,
      retryable: false,
    });
  });

  test('of a provider that is disabled is not configured', () => {
    const outcome = plan({}, { ...ai, isEnabled: false });
    expect(outcome).toMatchObject({ status: 'NotConfigured', providerStatus: 'provider_disabled' });
  });

  test('at its bounds is planned', () => {
    const most = { timeoutSeconds: 300, maxOutputBytes: 131_072, payload: payloadOf(65_536) };
    expect(plan({ ...most, modelId: ai.id, artifactDirectory: '' })).toMatchObject({
      timeoutMs: 300_000,
      outputBytesMax: 131_072,
      payloadBytes: 65_536,
    });
  });

  test('has the bounds of its mode where it names none', () => {
    expect(plan({ mode: 'mechanics' })).toMatchObject({ timeoutMs: 60_000, outputBytesMax: 65_536 });
    expect(plan({ mode: 'scaffold' })).toMatchObject({ timeoutMs: 120_000, outputBytesMax: 131_072 });
    expect(plan({ mode: 'mechanics', maxOutputBytes: 100_000 })).toMatchObject({ outputBytesMax: 65_536 });
  });

  test('takes null for a member that is absent', () => {
    const nulls = { operation: null, mode: null, modelId: null, timeoutSeconds: null, maxOutputBytes: null };
    expect(plan(nulls)).toEqual(plan());
    expect(namesOf({ ...chat, ...nulls })).toEqual({
      capability: 'ai.chat',
      operation: 'run',
      mode: 'advisory',
    });
  });

  test('has a hash of its payload that the order of members does not change', () => {
    const one = inputHashOf({ payload: { a: 1, b: 2 } });
    expect(inputHashOf({ payload: { b: 2, a: 1 } })).toBe(one);
    expect(inputHashOf({ payload: '\ud800' })).toMatch(/^sha256:/);
  });
});
