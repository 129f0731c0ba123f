import type { KeyRequest, RecordView } from '../../functions/store/port.ts';
import { keyName } from './memory-database.ts';

const WIDTH: Readonly<Record<RecordView, number>> = { head: 0, body: 1, parts: 2 };

/** A key asked for twice is read once, with the wider of its views. */
export function widestViews(
  keys: readonly KeyRequest[],
): Map<string, Required<Omit<KeyRequest, 'unguarded'>>> {
  const asked = new Map<string, Required<Omit<KeyRequest, 'unguarded'>>>();
  for (const { key, view = 'head', expectAbsent = false } of keys) {
    const before = asked.get(keyName(key));
    asked.set(keyName(key), {
      key,
      view: before !== undefined && WIDTH[before.view] > WIDTH[view] ? before.view : view,
      expectAbsent: expectAbsent && (before?.expectAbsent ?? true),
    });
  }
  return asked;
}
