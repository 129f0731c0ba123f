import { Command } from 'commander';
import { machine } from '../functions/compose/machine.ts';
import { createApiKeyText, hashApiKey } from '../functions/identity/api-keys.ts';
import { printLine, warn } from './output.ts';

/** `svc api-key`: creates keys for callers. The service gets only their hashes. */
export function apiKeyCommand(): Command {
  const command = new Command('api-key').description('creates API keys for callers');
  command
    .command('create')
    .description('creates a key of 256 random bits; prints it once, with the hash for the settings')
    .action(create);
  return command;
}

function create(): void {
  const key = createApiKeyText(machine.random);
  printLine(JSON.stringify({ key, hash: hashApiKey(key) }, null, 2));
  warn(
    'The key is shown this once. Give it to the caller, and the hash to Server:ApiKeyHashes or the file of',
  );
  warn('Server:ApiKeyFile.');
}
