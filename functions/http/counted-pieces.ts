import type { IncomingMessage } from 'node:http';
import { PieceCount } from '../kernel/byte-blocks.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { SmallBody } from './small-body.ts';

/**
 * Refuses a body in too many small pieces: `refuse` gets the error, and the server stops reading from the connection.
 * Node joins pieces that no reader has taken yet, so they are counted on arrival. Those of a small body go directly to
 * it, past the stream.
 */
export function countPieces(
  request: IncomingMessage,
  small: SmallBody | null,
  refuse: (error: Error) => void,
): void {
  const pieces = new PieceCount();
  const push = request.push.bind(request);
  let isRefused = false;
  request.push = (piece: unknown, encoding) => {
    if (!isRefused && piece instanceof Uint8Array) {
      isRefused = !pieces.passed(piece.length);
      if (isRefused) refuse(tooManyPieces());
      else if (small !== null) {
        small.add(piece);
        return true;
      }
    }
    if (piece === null && !isRefused) small?.end();
    // `false` stops the reading of the connection. Data that was already read still arrives here, and is dropped.
    return isRefused && piece !== null ? false : push(piece, encoding);
  };
}

function tooManyPieces(): ServiceError {
  const detail = 'The request body comes in too many small pieces. Send it in pieces of 128 bytes or more.';
  return new ServiceError('malformed_request', detail);
}
