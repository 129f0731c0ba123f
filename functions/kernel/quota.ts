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
