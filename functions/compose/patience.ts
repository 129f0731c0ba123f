import type { PatienceParts } from '../providers/patience.ts';
import type { LayerParts } from './layer.ts';

const MINUTE_MS = 60_000;

/** How long jobs keep retrying a provider that fails. */
export function patienceOf({
  settings,
  world,
  log,
}: Pick<LayerParts, 'settings' | 'world' | 'log'>): PatienceParts {
  const { clock, random } = world;
  return { clock, random, log, patienceMs: settings.embeddings.patienceMinutes * MINUTE_MS };
}
