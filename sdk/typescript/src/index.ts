export { SvcClient } from './client.ts';
export * from './common.ts';
export type * from './generated/client.ts';
