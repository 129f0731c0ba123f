import type { TurnRoom } from '../kernel/turn-room.ts';
import { LOCAL_RERANKER, localReranker, type Rerankers } from './reranker.ts';

/** Has the local reranker only. */
export function localRerankers(turns: TurnRoom): Rerankers {
  const local = localReranker(turns);
  return { find: (provider) => (provider === null || provider === LOCAL_RERANKER ? local : null) };
}
