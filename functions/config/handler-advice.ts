import { nearName } from '../kernel/near-names.ts';
import type { Advice } from './rule.ts';
import { type Settings, table } from './table.ts';

/** Grants, products and handlers that do not fit together: each is valid alone, and a call is refused all the same. */
export function handlerAdvice(settings: Settings): readonly Advice[] {
  const { executionAccess, execution } = settings;
  if (!execution.enabled || executionAccess.identityPolicies.length === 0) return [];
  return [
    ...unknownHandlers(settings),
    ...deadGrants(settings),
    ...excluded(settings),
    ...(execution.plugins.length === 0 ? unstartable(settings) : []),
  ];
}

const policiesKey = table.executionAccess.identityPolicies.key;
const productsKey = table.execution.productPolicies.key;
const handlersKey = table.execution.externalHandlers.key;

/** Handlers that a policy names and the settings do not configure. The handlers of plugins are known at start only. */
function unknownHandlers({ executionAccess, execution }: Settings): Advice[] {
  if (execution.plugins.length > 0) return [];
  const known = execution.externalHandlers.flatMap(({ HandlerId }) => HandlerId ?? []);
  const lists = [
    ...executionAccess.identityPolicies.map((policy, at) => [`${policiesKey}:${at}`, policy] as const),
    ...execution.productPolicies.map((policy, at) => [`${productsKey}:${at}`, policy] as const),
  ];
  return lists.flatMap(([at, { AllowedHandlerIds = [] }]) =>
    AllowedHandlerIds.filter((id) => !known.includes(id)).map((id) => ({
      key: `${at}:AllowedHandlerIds`,
      message: `names the handler ${id}, which is none of ${handlersKey}${meant(id, known)}`,
      remedy: `Add it to ${handlersKey}, or remove it here.`,
    })),
  );
}

function meant(id: string, known: readonly string[]): string {
  const near = nearName(id, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** Tenants and handlers of a grant that the policy of its product refuses. */
function deadGrants({ executionAccess, execution }: Settings): Advice[] {
  const products = new Map(execution.productPolicies.map((policy) => [policy.ProductId, policy]));
  return executionAccess.identityPolicies.flatMap((policy, index) => {
    const product = products.get(policy.ProductId);
    return (['AllowedTenantIds', 'AllowedHandlerIds'] as const).flatMap((member) => {
      const allowed = product?.[member] ?? [];
      if (allowed.length === 0) return [];
      return (policy[member] ?? [])
        .filter((id) => !allowed.includes(id))
        .map((id) => ({
          key: `${policiesKey}:${index}:${member}`,
          message: `names ${id}, which the policy of the product ${policy.ProductId ?? ''} refuses`,
          remedy: `Add it to ${member} of the product in ${productsKey}, or remove it here.`,
        }));
    });
  });
}

/** Handlers that the policy of every product excludes. */
function excluded({ execution }: Settings): Advice[] {
  const { externalHandlers, productPolicies } = execution;
  const isAllowed = (handlerId: string) =>
    productPolicies.some(
      ({ AllowedHandlerIds = [] }) => AllowedHandlerIds.length === 0 || AllowedHandlerIds.includes(handlerId),
    );
  if (productPolicies.length === 0) return [];
  return externalHandlers.flatMap(({ HandlerId = '' }, index) =>
    isAllowed(HandlerId)
      ? []
      : {
          key: `${handlersKey}:${index}`,
          message: `every product excludes the handler ${HandlerId}: no caller can start its runs`,
          remedy: `Add it to AllowedHandlerIds of a product in ${productsKey}.`,
        },
  );
}

/** Warnings for handlers that no grant lets a caller start, or a worker execute. */
function unstartable({ executionAccess, execution }: Settings): Advice[] {
  const granted = (operation: string, handlerId: string) =>
    executionAccess.identityPolicies.some(
      ({ AllowedOperations = [], AllowedHandlerIds = [] }) =>
        AllowedOperations.includes(operation) &&
        (AllowedHandlerIds.length === 0 || AllowedHandlerIds.includes(handlerId)),
    );
  return execution.externalHandlers.flatMap(({ HandlerId = '' }, index) =>
    (['start_run', 'worker'] as const)
      .filter((operation) => !granted(operation, HandlerId))
      .map((operation) => ({
        key: `${handlersKey}:${index}`,
        message: `no policy grants ${operation} for the handler ${HandlerId}: ${effects[operation]}`,
        remedy: `Grant ${operation} to a principal in ${policiesKey}.`,
      })),
  );
}

const effects = {
  start_run: 'no caller can start its runs',
  worker: 'no worker can execute its runs',
} as const;
