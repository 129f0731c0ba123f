import type { Json } from '../../functions/kernel/canonical-json.ts';
import { isJsonObject } from '../../functions/kernel/json-kinds.ts';
import type {
  InputRequest,
  InputRequests,
  McpContext,
  McpTool,
  ToolAnswer,
} from '../../functions/mcp/catalog.ts';
import { definitionOf, elicitation, textOf } from './acceptance-definitions.ts';

/** Tools that ask the client before they answer. */

const sampling = (text: string, maxTokens: number): InputRequest => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens },
});
const roots: InputRequest = { method: 'roots/list', params: {} };

interface Step {
  readonly asks: InputRequests;
  /** The state of the question, which the answers must return. */
  readonly state?: Json;
}

/** A tool that asks one step after the other, and again where an answer is missing. */
function asking(name: string, steps: readonly Step[], ending = 'answered'): McpTool {
  return {
    definition: definitionOf(name),
    call: (_, context) =>
      Promise.resolve(nextStep(steps, context) ?? textOf(`${ending}: ${wordsOf(context)}`)),
  };
}

function nextStep(steps: readonly Step[], { inputResponses, requestState }: McpContext): ToolAnswer | null {
  // Without a state of ours the call is in its first step.
  const at = Math.max(
    0,
    steps.findIndex(({ state }) => state !== undefined && state === requestState),
  );
  const step = steps[at];
  if (!step) return null;
  const keys = Object.keys(step.asks);
  const isStateMissing = step.state !== undefined && requestState !== step.state;
  const next = keys.some((key) => !inputResponses[key]) || isStateMissing ? step : steps[at + 1];
  if (!next) return null;
  return {
    resultType: 'input_required',
    inputRequests: next.asks,
    ...(next.state === undefined ? {} : { requestState: next.state }),
  };
}

function wordsOf({ inputResponses }: McpContext): string {
  const { user_name: named } = inputResponses;
  const content = named?.['content'];
  if (isJsonObject(content)) return `Hello, ${JSON.stringify(content['name'])}!`;
  return JSON.stringify(inputResponses);
}

const confirm = elicitation('Please confirm', 'ok', 'boolean');
const name = elicitation('What is your name?', 'name');

export const acceptanceRounds: readonly McpTool[] = [
  asking('test_input_required_result_elicitation', [{ asks: { user_name: name } }]),
  asking('test_input_required_result_sampling', [
    { asks: { capital_question: sampling('What is the capital of France?', 100) } },
  ]),
  asking('test_input_required_result_list_roots', [{ asks: { client_roots: roots } }]),
  asking('test_input_required_result_request_state', [{ asks: { confirm }, state: 'asked' }], 'state-ok'),
  asking('test_input_required_result_tampered_state', [{ asks: { confirm }, state: 'asked' }]),
  asking('test_input_required_result_multiple_inputs', [
    {
      asks: { user_name: name, greeting: sampling('Generate a greeting', 50), client_roots: roots },
      state: 'asked',
    },
  ]),
  asking('test_input_required_result_multi_round', [
    { asks: { step1: elicitation('Step 1: What is your name?', 'name') }, state: 1 },
    { asks: { step2: elicitation('Step 2: What is your favorite color?', 'color') }, state: 2 },
  ]),
  {
    definition: definitionOf('test_input_required_result_capabilities'),
    call: (_, { capabilities }) => {
      const asks: Record<string, InputRequest> = {};
      if (isJsonObject(capabilities['elicitation'])) asks['name'] = name;
      if (isJsonObject(capabilities['sampling'])) asks['greeting'] = sampling('Generate a greeting', 50);
      return Promise.resolve({ resultType: 'input_required', inputRequests: asks });
    },
  },
];
