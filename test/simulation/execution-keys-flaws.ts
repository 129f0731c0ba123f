import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { STORE_FLAWS } from './execution-store-flaws.ts';

/** Bugs around a concurrency key, planted on purpose. */
export const KEY_FLAWS: Readonly<Record<string, ExecutionFlaw>> = {
  'offer-unheard': {
    about: 'the run that comes next for a free key is never announced',
    hears: ({ reason, repeatKey }) => reason !== 'run_ready' || repeatKey === undefined,
  },
  'expiry-unheard': {
    about: 'the queue does not hear when a lease ends',
    hears: ({ reason }) => reason !== 'lease_expired',
  },
  'changes-unseen': { about: 'no instance notices the writes of another', marksNothing: true },
  ...(STORE_FLAWS['never-due'] && { 'never-due': STORE_FLAWS['never-due'] }),
};
