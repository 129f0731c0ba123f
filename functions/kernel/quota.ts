import { ServiceError } from './errors.ts';

export interface QuotaLimit {
  readonly bytes: number;
  /** The key of the setting that says so. */
  readonly setting: string;
}

export function quotaExceeded({ bytes: limit, setting }: QuotaLimit, used: number): ServiceError {
  const detail = `The bytes that may be stored are used up. Delete something, or raise ${setting}.`;
  return new ServiceError('quota_exceeded', detail, { limit, used, setting });
}

/** For writes that an owner may do without: the refusal is passed over, and every other error is thrown on. */
export function unlessQuotaExceeded(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'quota_exceeded')) throw error;
}
