import type { Metafile } from 'esbuild';
import { closure, outputOf, partsWithPackages, sharedParts } from './parts.ts';

/** Finds modules and texts that the bundle must not hold. */
export function bundleFaults(metafile: Metafile, texts: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const entry = outputOf(metafile, 'functions/index.ts');
  const foreign = partsWithPackages
    .flatMap((name) => sharedParts[name]?.entries ?? [])
    .map((input) => outputOf(metafile, input));
  const ours = closure(metafile, [entry], true, foreign);
  for (const name of closure(metafile, [entry])) {
    const inputs = Object.keys(metafile.outputs[name]?.inputs ?? {});
    const early = inputs.filter((input) =>
      /^contracts\/generated\/(operations\/(?!load)|operations\.ts)/.test(input),
    );
    faults.push(...early.map((input) => `every function reads ${input} before its first request`));
  }
  for (const [name, output] of Object.entries(metafile.outputs)) {
    const packages = Object.keys(output.inputs).filter((input) => input.includes('node_modules/'));
    if (packages.some((input) => input.includes('node_modules/ajv')))
      faults.push(`${name} compiles schemas at run time`);
    if (!ours.has(name)) continue;
    if (packages[0] !== undefined) faults.push(`${name} holds ${packages[0]}`);
    if (/\bnew Function\b|\beval\(/.test(texts.get(name) ?? '')) faults.push(`${name} makes code from text`);
  }
  return faults;
}
