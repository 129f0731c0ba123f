/** The result of one check. */
export interface Check {
  readonly id: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** The remedy; `null` if none is needed. */
  readonly remedy: string | null;
}

export function ok(id: string, message: string): Check {
  return { id, status: 'ok', message, remedy: null };
}

export function warning(id: string, message: string, remedy: string): Check {
  return { id, status: 'warning', message, remedy };
}

export function failed(id: string, message: string, remedy: string): Check {
  return { id, status: 'failed', message, remedy };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
