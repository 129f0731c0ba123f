import { ServiceError } from './errors.ts';

export interface QuotaLimit {
  readonly bytes: number;
  /** The key of the setting that sets the bound. */
  readonly setting: string;
}

export function quotaExceeded({ bytes: limit, setting }: QuotaLimit, used: number): ServiceError {
  const detail = `The bytes that may be stored are used up. Delete data, or raise ${setting}.`;
  return new ServiceError('quota_exceeded', detail, { limit, used, setting });
}

/** For writes that may be dropped: ignores the refusal of a quota, and rethrows every other error. */
export function unlessQuotaExceeded(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'quota_exceeded')) throw error;
}
