import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isFaultilyFramed } from './headers.ts';

/**
 * The requests of one connection, in the order of their arrival. A client may send several before it reads an answer
 * (pipelining). The server processes one at a time, so that a connection never holds more than one answer in memory.
 */
export interface ConnectionLine {
  /** Adds a request at the end. Reading pauses while a request waits behind another. */
  join(turn: Turn): void;
  /** Runs `start` when every earlier request of the connection has left. */
  ready(turn: Turn, start: () => void): void;
  /** The next request starts, unless this one was the last that the connection carries. */
  leave(turn: Turn, isLast: boolean): void;
  /** The request that arrived last, of those that have not left. */
  readonly last: Turn | undefined;
}

export interface Turn {
  start?: () => void;
}

// The requests that one read of the socket brings are parsed before reading can pause. No honest client sends more.
const waitingMax = 1_000;

/** The line of each connection. `dropped` is called for every request that has not left when its connection closes. */
export function connectionLines(dropped: (turn: Turn) => void): (socket: Socket) => ConnectionLine {
  const lines = new WeakMap<Socket, Line>();
  return (socket) => {
    const known = lines.get(socket);
    if (known) return known;
    const line = new Line(socket);
    lines.set(socket, line);
    socket.once('close', () => {
      for (const turn of line.clear()) dropped(turn);
    });
    return line;
  };
}

/** Node drops the bytes behind a request that asks to upgrade, and those behind faulty framing may be no request. */
export function endsConnection(request: IncomingMessage): boolean {
  const { connection = '', upgrade } = request.headers;
  return isFaultilyFramed(request) || (upgrade !== undefined && /\bupgrade\b/i.test(connection));
}

class Line implements ConnectionLine {
  readonly #socket: Socket;
  #turns: Turn[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    // Node resumes reading behind each request that it has parsed.
    socket.on('resume', () => {
      if (this.#turns.length > 1) socket.pause();
    });
  }

  get last(): Turn | undefined {
    return this.#turns.at(-1);
  }

  join(turn: Turn): void {
    this.#turns.push(turn);
    if (this.#turns.length > waitingMax) this.#socket.destroy();
    else if (this.#turns.length > 1) this.#socket.pause();
  }

  ready(turn: Turn, start: () => void): void {
    turn.start = start;
    if (this.#turns[0] === turn) start();
  }

  leave(turn: Turn, isLast: boolean): void {
    const at = this.#turns.indexOf(turn);
    if (at < 0) return;
    this.#turns.splice(at, 1);
    // Behind the last answer of a connection, and without a client, nothing is processed.
    if (isLast || this.#socket.destroyed) return;
    if (this.#turns.length <= 1) this.#socket.resume();
    if (at === 0) this.#turns[0]?.start?.();
  }

  clear(): readonly Turn[] {
    const turns = this.#turns;
    this.#turns = [];
    return turns;
  }
}
