import { gatherBytes } from './byte-blocks.ts';
import type { OutgoingHttp } from './world.ts';

const ANSWER_BYTES_MAX = 1024 * 1024;

/**
 * `fetch` for a library that reads answers itself, such as one that requests tokens. It hands over each answer in one piece, within
 * a bound: the library would keep an object for each piece, and has no bound.
 */
export function libraryFetch(http: OutgoingHttp): typeof fetch {
  return async (input, init) => {
    const response = await http(input instanceof Request ? input.url : input, init);
    if (response.body === null) return response;
    const bytes = await gatherBytes(
      response.body,
      ANSWER_BYTES_MAX,
      () => new Error('the answer has too many bytes or pieces'),
    );
    const { status, statusText, headers, url } = response;
    return Object.defineProperty(new Response(bytes, { status, statusText, headers }), 'url', { value: url });
  };
}
