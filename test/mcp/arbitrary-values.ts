import * as fc from 'fast-check';

/** What drawn requests of any revision are made of. */

export const names = [
  'greet',
  'slow_compute',
  'failing_job',
  'test_custom_headers',
  'test_tool_with_progress',
  'test_input_required_result_elicitation',
  'test_simple_prompt',
  'test_prompt_with_arguments',
];

export const json = fc.jsonValue({ maxDepth: 3 });
/** The usual value, or seldom any other. */
export const rarely = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof<fc.WeightedArbitrary<unknown>[]>({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: json });
