import type { Caller } from './caller.ts';

/** The caller of the open development mode: not verified, and allowed every operation. */
export const developmentCaller: Caller = { kind: 'development', principal: null };
