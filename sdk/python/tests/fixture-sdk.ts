/** `node fixture-sdk.ts <folder>`: generates the SDKs of a test contract with features that the real one lacks. */
import { write } from '../../../contracts/generate/disk.ts';
import { fixtureSource } from '../../../contracts/generate/fixture.ts';
import { sdkOutputs } from '../../../contracts/generate/sdk/outputs.ts';
import { readSource } from '../../../contracts/generate/source.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('a folder is needed');
write(folder, sdkOutputs(fixtureSource(readSource(process.cwd()).catalogSchema)));
