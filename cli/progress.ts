import type { Clock } from '../functions/kernel/world.ts';

/** The minimum time between two redraws. */
const PAUSE_MS = 100;

/** The progress of a copy, with the additional steps of the tool. */
export interface Progress {
  readonly step: string;
  readonly records: number;
  readonly recordsTotal: number | null;
  /** Default: records. */
  readonly unit?: string;
}

export interface ProgressOptions {
  readonly stream: { readonly isTTY?: boolean; write(text: string): unknown };
  readonly clock: Clock;
  /** Without a terminal: prints a line for each step. */
  readonly verbose: boolean;
}

/** Shows the progress of a copy: one redrawn line on a terminal, nothing elsewhere. */
export class ProgressLine {
  readonly #options: ProgressOptions;
  #step: string | null = null;
  #begunAt = 0;
  #drawnAt = 0;
  #drawn = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  readonly show = (progress: Progress): void => {
    const { stream, clock, verbose } = this.#options;
    if (stream.isTTY !== true && !verbose) return;
    const now = clock.now();
    if (progress.step !== this.#step) {
      this.#step = progress.step;
      this.#begunAt = now;
      this.#drawnAt = 0;
      if (stream.isTTY !== true) stream.write(`${progress.step} …\n`);
    }
    if (stream.isTTY !== true || now - this.#drawnAt < PAUSE_MS) return;
    this.#drawnAt = now;
    this.#drawn = true;
    stream.write(`\r\x1b[K${lineOf(progress, now - this.#begunAt)}`);
  };

  /** Clears the line before other output. */
  end(): void {
    if (this.#drawn) this.#options.stream.write('\r\x1b[K');
    this.#drawn = false;
  }
}

function lineOf({ step, records, recordsTotal, unit = 'records' }: Progress, elapsedMs: number): string {
  if (records === 0 && recordsTotal === null) return step;
  const done = grouped(records);
  const share =
    recordsTotal === null || recordsTotal === 0
      ? `${done} ${unit}`
      : `${done} of ${grouped(recordsTotal)} ${unit} (${Math.floor((records / recordsTotal) * 100)}%)`;
  const rate = elapsedMs < 1_000 ? '' : `, ${grouped(Math.round((records / elapsedMs) * 1_000))} a second`;
  return `${step}: ${share}${rate}`;
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
