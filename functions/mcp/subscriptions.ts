import { isJsonObject } from '../kernel/json-kinds.ts';
import { demandCapabilities, taskCapability } from './capabilities.ts';
import { SUBSCRIPTION_ID } from './envelope.ts';
import { invalidParams } from './errors.ts';
import type { AnswerMethod } from './exchange.ts';

/**
 * A stream that ends at once. The server keeps no subscriptions: it first confirms that it accepts none of the requested kinds, then
 * closes the stream.
 */
export const listen: AnswerMethod = async ({ call, context, notify }) => {
  const { notifications } = call.params;
  if (!isJsonObject(notifications))
    throw invalidParams('Invalid params: the notifications are not an object');
  if (call.params['taskIds'] !== undefined || notifications['taskIds'] !== undefined)
    demandCapabilities(taskCapability, context.capabilities);
  const subscription = { _meta: { [SUBSCRIPTION_ID]: call.id } };
  notify({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, ...subscription },
  });
  return { resultType: 'complete', ...subscription };
};
