import { RunFailure } from '../errors.ts';

/**
 * Ends the run as failed: it is not retried, and what steps did is undone. A step that throws it is not tried again.
 */
export class Stop extends RunFailure {
  constructor(message: string, options: { readonly failureClass?: string; readonly cause?: unknown } = {}) {
    const { failureClass = 'validation', ...rest } = options;
    super(failureClass, message, { ...rest, retryable: false });
    this.name = 'Stop';
  }
}

interface Cause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

/** Errors whose text the author of a handler, or the kit, wrote for the run. */
const PUBLIC: ReadonlySet<string> = new Set([
  'Stop',
  'RunFailure',
  'RunFailed',
  'StepTimeout',
  'StepValueError',
]);

/**
 * The failure of a step after its last try, or of a child run. A handler may catch it and continue. The text of another
 * error may be confidential: only `cause` has it.
 */
export class StepFailed extends Stop {
  /** The key of the step. */
  readonly step: string;
  declare readonly cause: Cause;

  constructor(step: string, cause: Cause) {
    super(`"${step}" failed${PUBLIC.has(cause.name) ? `: ${cause.message}` : ''}`, { cause });
    this.name = 'StepFailed';
    this.step = step;
  }
}

/** The code of the handler and the journal of the run do not fit. The run is retried, so mended code continues it. */
export class ChangedCode extends RunFailure {
  constructor(message: string) {
    super('changed_code', message);
    this.name = 'ChangedCode';
  }
}

/** An operation has a result of another kind. */
export class ChangedKind extends ChangedCode {
  readonly key: string;
  readonly was: string;
  readonly is: string;

  constructor(key: string, was: string, is: string) {
    super(`${JSON.stringify(key)} was a ${was} and is a ${is} now`);
    this.key = key;
    this.was = was;
    this.is = is;
  }
}

/** Parallel branches call one name more than once, so the next execution could exchange their results. */
export class AmbiguousName extends RunFailure {
  constructor(message: string) {
    super('ambiguous_name', message);
    this.name = 'AmbiguousName';
  }
}

/** A step did not end in its time. */
export class StepTimeout extends Error {
  constructor(step: string, seconds: number) {
    super(`"${step}" took longer than ${seconds} s.`);
    this.name = 'StepTimeout';
  }
}
