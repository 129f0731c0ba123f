/** A unit file of systemd, as far as the tests read it: keys with all their values, by section. */
export type Unit = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export function readUnit(text: string): Unit {
  const sections: Record<string, Record<string, string[]>> = {};
  let section: Record<string, string[]> = {};
  for (const line of text.split('\n').map((each) => each.trim())) {
    const name = /^\[(\w+)\]$/.exec(line)?.[1];
    if (name !== undefined) section = sections[name] ??= {};
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) (section[key] ??= []).push(value);
  }
  return sections;
}

/** The words of a command line of a unit: quotes as systemd reads them, and the name of the instance. */
export function wordsOf(line: string, instance = ''): string[] {
  const words = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return words.map((word) =>
    word
      .replace(/^'(.*)'$|^"(.*)"$/s, (_, single?: string, double?: string) => single ?? double ?? '')
      .replace(/%([%iI])/g, (_, letter: string) => (letter === '%' ? '%' : instance)),
  );
}

/** Seconds of `30`, `2h` or `15m`. */
export function secondsOf(span: string): number {
  const [, count = '', unit = 's'] = /^(\d+)(s|m|h)?$/.exec(span) ?? [];
  return Number(count) * { s: 1, m: 60, h: 3_600 }[unit as 's' | 'm' | 'h'];
}

/** Bytes of `1536M`. */
export function bytesOf(size: string): number {
  const [, count = '', unit = ''] = /^(\d+)([KMG]?)$/.exec(size) ?? [];
  return Number(count) * { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[unit as '' | 'K' | 'M' | 'G'];
}
