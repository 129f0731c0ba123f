import { ToolError } from '../output.ts';

/** The service refused a request. */
export class Refused extends ToolError {
  readonly status: number;
  /** How long the service asks to wait; `null` where it does not say. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, exitCode: number, status: number, retryAfter: string | undefined) {
    super(message, exitCode);
    this.name = 'Refused';
    this.status = status;
    this.retryAfterSeconds = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) : null;
  }

  /** Whether the service did nothing, and asks to come later. */
  get isLater(): boolean {
    return this.status === 429 || (this.status === 503 && this.retryAfterSeconds !== null);
  }
}
