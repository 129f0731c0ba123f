import type { Schema } from '../../contracts/generate/schema.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import { machine } from '../../functions/compose/machine.ts';
import { createChain, type HandlerMap } from '../../functions/http/chain.ts';
import { inject } from '../../functions/http/host-inject.ts';
import { createAuthenticator } from '../../functions/identity/authenticator.ts';
import { createAuthorizer } from '../../functions/identity/authorizer.ts';
import { developmentCaller } from '../../functions/identity/development.ts';
import type { Target } from './attacked.ts';
import { contractModels, SchemaSet } from './schema-set.ts';

/** An operation that the contract does not have, to prove that an operation of a later release is attacked as it is. */
export const throwawayEntry: OperationEntry = {
  id: 'sortParcels',
  group: 'depots',
  stability: 'preview',
  authorizationClass: 'canonical-policy',
  rateClass: 'canonical',
  accessOperation: 'write',
  mutation: 'write',
  completion: 'atomic',
  idempotency: { requirement: 'unsupported', location: null },
  routes: [
    {
      operationId: 'sortParcels',
      method: 'PUT',
      segments: [{ literal: 'depots' }, { param: 'depotId' }, { literal: 'parcels' }],
      path: [{ name: 'depotId', required: true, type: 'string', minLength: 1, maxLength: 160 }],
      query: [
        { name: 'limit', required: true, type: 'integer', minimum: 1, maximum: 9 },
        { name: 'order', required: false, type: 'string', enum: ['up', 'down'] },
        { name: 'label.', required: false, type: 'string', maxLength: 5, prefix: true },
      ],
      headers: [],
      bodyFromParameters: false,
      bodyMembers: [],
    },
  ],
  requestSchema: 'ParcelOrder',
  requestMediaType: 'application/json',
  bodyLimitBytes: 65_536,
  responses: [{ status: 200, mediaType: 'application/json', schema: 'ParcelCount', headers: [] }],
  problems: ['malformed_request', 'invalid_path_segment', 'validation_failed', 'limit_exceeded', 'not_found'],
};

const models: Readonly<Record<string, Schema>> = {
  ParcelOrder: {
    type: 'object',
    additionalProperties: false,
    properties: {
      depotId: { type: ['string', 'null'], maxLength: 160 },
      boxes: { type: ['array', 'null'], maxItems: 5, items: { $ref: '#/$defs/ParcelBox' } },
    },
    examples: [{ boxes: [{ width: 2 }] }],
  },
  ParcelBox: {
    type: 'object',
    additionalProperties: false,
    properties: { width: { type: 'integer', minimum: 1, maximum: 9 } },
    required: ['width'],
  },
  ParcelCount: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
};

const set = new SchemaSet({ ...Object.fromEntries(contractModels().models), ...models });

export interface ThrowawayOptions {
  /** The behaviour of the operation; by default the one that its contract states. */
  readonly handler?: HandlerMap[string];
  /** Whether bodies are held against their model. */
  readonly checked?: boolean;
  readonly entry?: OperationEntry;
}

/** The operation behind the chain of the service, or a broken one in its place. */
export function throwaway(options: ThrowawayOptions = {}): Target {
  const { entry = throwawayEntry, checked = true } = options;
  const sound: HandlerMap[string] = async () => ({ status: 200, body: { count: 1 } });
  const validator = ((value: unknown) => !checked || set.fault('ParcelOrder', value) === null) as Validator;
  const chain = createChain({
    operations: { [entry.id]: entry },
    handlers: { [entry.id]: options.handler ?? sound },
    validators: {
      depots: async () => ({ requestValidators: { [entry.id]: validator }, responseValidators: {} }),
    },
    world: machine,
    authenticator: createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller }),
    authorizer: createAuthorizer(),
    log: () => {},
    rateLimit: null,
  });
  return { set, entries: [entry], call: (request) => inject(chain, request) };
}
