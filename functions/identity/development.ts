import type { Caller } from './caller.ts';

/** The caller of the open development mode: nobody was verified, and every operation is allowed. */
export const developmentCaller: Caller = { kind: 'development', principal: null };
