/** Seconds, or a text such as `500ms`, `30s`, `5m`, `1.5h`, `7d`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** 3,660 days, as the server has it. */
const MS_MAX = 316_224_000_000;

/** Whole milliseconds. */
export function durationMs(given: Duration, label: string): number {
  const found = typeof given === 'number' ? null : /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(given);
  const unit = found?.[2] as keyof typeof unitMs | undefined;
  const ms = Math.round(unit === undefined ? Number(given) * 1_000 : Number(found?.[1]) * unitMs[unit]);
  if (!(ms >= 0 && ms <= MS_MAX))
    throw new TypeError(`${label} must be a number of seconds, or a text such as "30s", up to 3,660 days.`);
  return ms;
}
