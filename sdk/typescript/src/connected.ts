import { APIConnectionError } from './errors.ts';

export async function connected<T>(operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new APIConnectionError(`${operation}: the connection failed, and no whole answer came.`, {
      operation,
      cause,
    });
  }
}
