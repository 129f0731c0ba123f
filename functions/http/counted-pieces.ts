import type { IncomingMessage } from 'node:http';
import { PieceCount } from '../kernel/byte-blocks.ts';
import { ServiceError } from '../kernel/errors.ts';

/**
 * Breaks the body of a request that comes in more pieces than its bytes are worth. Node joins pieces which no reader has taken
 * yet, so they are counted where they come in.
 */
export function countPieces(request: IncomingMessage, breakBody: (error: Error) => void): void {
  const pieces = new PieceCount();
  const push = request.push.bind(request);
  let isBroken = false;
  request.push = (piece: unknown, encoding) => {
    if (!isBroken && piece instanceof Uint8Array && !pieces.passed(piece.length)) {
      isBroken = true;
      breakBody(tooManyPieces());
    }
    return push(piece, encoding);
  };
}

function tooManyPieces(): ServiceError {
  const detail = 'The request body comes in too many small pieces. Send it in pieces of 64 bytes or more.';
  return new ServiceError('malformed_request', detail);
}
