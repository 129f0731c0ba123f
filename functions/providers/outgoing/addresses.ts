import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Addresses of a machine's own platform: they give credentials to whoever asks, and no model is there. */
const refused = new BlockList();
refused.addSubnet('0.0.0.0', 8);
refused.addSubnet('169.254.0.0', 16);
refused.addAddress('100.100.100.200');
refused.addSubnet('224.0.0.0', 3);
refused.addAddress('::', 'ipv6');
refused.addSubnet('fe80::', 10, 'ipv6');
refused.addAddress('fd00:ec2::254', 'ipv6');
refused.addSubnet('ff00::', 8, 'ipv6');
// The same IPv4 addresses behind translators (RFC 6052); those mapped into IPv6 are compared as IPv4.
refused.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
refused.addAddress('64:ff9b::6464:64c8', 'ipv6');

/** Whether no provider is called at this IP address, unless the settings name the address itself. */
export function isRefusedAddress(address: string): boolean {
  return refused.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

export class RefusedAddress extends Error {
  constructor() {
    super('the name leads to an address that no provider is called at');
    this.name = 'RefusedAddress';
  }
}

/**
 * Resolves a name for one connection, which is then made to the addresses that were judged. One refused address among several
 * refuses the name: it is that of an attacker, or set up wrong.
 */
export function guardedLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null || typeof found === 'string') return callback(error, []);
      const [first] = found;
      if (first === undefined || found.some(({ address }) => isRefusedAddress(address)))
        callback(new RefusedAddress(), []);
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}
