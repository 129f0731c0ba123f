import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { McpPrompt, PromptAnswer } from '../../functions/mcp/catalog.ts';
import { elicitation, image } from './acceptance-definitions.ts';

function saying(...contents: JsonObject[]): Promise<PromptAnswer> {
  const messages = contents.map((content) => ({ role: 'user', content }));
  return Promise.resolve({ resultType: 'complete', messages });
}

const described = (name: string) => ({ name, description: `Test prompt ${name.replaceAll('_', ' ')}.` });
const demanded = (name: string) => ({ name, required: true });

export const acceptancePrompts: readonly McpPrompt[] = [
  {
    definition: described('test_simple_prompt'),
    get: () => saying({ type: 'text', text: 'This is a simple prompt for testing.' }),
  },
  {
    definition: {
      ...described('test_prompt_with_arguments'),
      arguments: [demanded('arg1'), demanded('arg2')],
    },
    get: ({ arg1, arg2 }) =>
      saying({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  },
  {
    definition: { ...described('test_prompt_with_embedded_resource'), arguments: [demanded('resourceUri')] },
    get: ({ resourceUri = '' }) =>
      saying(
        {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  },
  {
    definition: described('test_prompt_with_image'),
    get: () => saying(image, { type: 'text', text: 'Please analyze the image above.' }),
  },
  {
    definition: described('test_input_required_result_prompt'),
    get: (_, { inputResponses }) => {
      const { user_context: answered } = inputResponses;
      if (answered) return saying({ type: 'text', text: `With ${JSON.stringify(answered['content'])}` });
      const inputRequests = {
        user_context: elicitation('What context should the prompt use?', 'context'),
      };
      return Promise.resolve({ resultType: 'input_required', inputRequests });
    },
  },
];
