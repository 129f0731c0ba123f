import type { WireCase } from '../../contracts/generate/sdk/wire.ts';

declare const golden: { readonly cases: readonly WireCase[] };
export = golden;
