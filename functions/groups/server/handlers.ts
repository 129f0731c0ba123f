import type { GroupHandlers } from '../../http/handler.ts';
import { getOpenApiContract, getPublicSchemaContract } from './contract.ts';
import type { ServerDependencies } from './dependencies.ts';
import { getHealth } from './health.ts';
import { getReadiness } from './readiness.ts';

/** The operations of the server group: the description of the service, and its health. */
export function serverHandlers(dependencies: ServerDependencies): GroupHandlers<'server'> {
  return {
    getHealth: getHealth(dependencies),
    getReadiness: getReadiness(dependencies),
    getOpenApiContract: getOpenApiContract(dependencies),
    getPublicSchemaContract: getPublicSchemaContract(dependencies),
  };
}
