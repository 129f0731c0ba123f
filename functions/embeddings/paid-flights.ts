/** The vector of a flight; `null`: the call that requested the vector failed. */
type Landing = Float32Array | null;

/** The vectors that calls of this process have requested, so that a second call for the same text waits instead of paying. */
export class PaidFlights {
  readonly #flights = new Map<string, PromiseWithResolvers<Landing>>();

  /** The flight of another call for the vector of this name; `null`: the caller has started one, and must end it in any case. */
  join(name: string): Promise<Landing> | null {
    const flight = this.#flights.get(name);
    if (flight !== undefined) return flight.promise;
    this.#flights.set(name, Promise.withResolvers());
    return null;
  }

  /** Has no effect if the flight has ended. */
  end(name: string, landing: Landing): void {
    this.#flights.get(name)?.resolve(landing);
    this.#flights.delete(name);
  }
}
