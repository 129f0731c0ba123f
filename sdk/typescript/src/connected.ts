import { APIConnectionError } from './errors.ts';
import { methodOf, type OperationName } from './operation.ts';

export async function connected<T>(operation: OperationName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new APIConnectionError(`${methodOf(operation)}: the connection failed, and no whole answer came.`, {
      operation: operation.id,
      cause,
    });
  }
}
