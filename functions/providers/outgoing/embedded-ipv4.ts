const GROUPS = 8;

/** Forms of IPv6 addresses whose last 32 bits are an IPv4 address, by their first groups. */
const suffixForms: readonly (readonly number[])[] = [
  // Compatible (RFC 4291 section 2.5.5.1), mapped (2.5.5.2) and translated (RFC 2765).
  [0, 0, 0, 0, 0, 0],
  [0, 0, 0, 0, 0, 0xffff],
  [0, 0, 0, 0, 0xffff, 0],
  // NAT64: the well-known prefix (RFC 6052).
  [0x64, 0xff9b, 0, 0, 0, 0],
];
const SIX_TO_FOUR = 0x2002;
const TEREDO = [0x2001, 0];
const ISATAP = 0x5efe;

/**
 * The IPv4 addresses to which a translator or a tunnel may send packets for this IPv6 address. None for `::` and `::1`,
 * which have meanings of their own.
 */
export function embeddedIpv4(address: string): readonly string[] {
  const groups = groupsOf(address);
  const at = (index: number) => ipv4Of(groups[index] ?? 0, groups[index + 1] ?? 0);
  const begins = (form: readonly number[]) => form.every((group, index) => groups[index] === group);
  const found: string[] = [];
  const isItself = groups.slice(0, GROUPS - 1).every((group) => group === 0) && (groups.at(-1) ?? 0) <= 1;
  if (suffixForms.some(begins) && !isItself) found.push(at(6));
  // RFC 3056.
  if (groups[0] === SIX_TO_FOUR) found.push(at(1));
  // RFC 4380: its server, and the client with all bits turned.
  if (begins(TEREDO)) found.push(at(2), ipv4Of((groups[6] ?? 0) ^ 0xffff, (groups[7] ?? 0) ^ 0xffff));
  // RFC 5214.
  if (groups[5] === ISATAP) found.push(at(6));
  return found;
}

/** The eight groups of a valid IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const front = partsOf(head);
  if (tail === undefined) return front;
  const back = partsOf(tail);
  return [...front, ...Array<number>(GROUPS - front.length - back.length).fill(0), ...back];
}

function partsOf(text: string): number[] {
  return text.split(':').flatMap((part) => {
    if (part === '') return [];
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function ipv4Of(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}
