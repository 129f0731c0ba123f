import { NotFoundError } from './errors.ts';

/** The result of a read; `null` where the service answers `not_found`. Another 404, such as that of a proxy, is thrown. */
export async function found<T>(read: PromiseLike<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NotFoundError && error.code === 'not_found') return null;
    throw error;
  }
}
