import type { RecordAccess } from './record-access.ts';

/**
 * The rights of `Server:ProviderAccess`: `read` shows providers and jobs, `run` starts and cancels runs, `qualify` tries providers.
 * Each costs more than the one before. A principal has one space here too: its jobs and traces are there.
 */
export type ProviderAccessOperation = 'read' | 'run' | 'qualify';

export type ProviderAccess = RecordAccess<ProviderAccessOperation>;
