import { BlockList, isIP, type LookupFunction } from 'node:net';
import { embeddedIpv4 } from './embedded-ipv4.ts';

/** Addresses of a machine's own platform: it gives credentials to any caller, and no model runs there. */
const refused = new BlockList();
refused.addSubnet('0.0.0.0', 8);
refused.addSubnet('169.254.0.0', 16);
// Metadata of Alibaba Cloud, Azure and Oracle Cloud.
refused.addAddress('100.100.100.200');
refused.addAddress('168.63.129.16');
refused.addAddress('192.0.0.192');
refused.addSubnet('224.0.0.0', 3);
refused.addAddress('::', 'ipv6');
refused.addSubnet('fe80::', 10, 'ipv6');
refused.addSubnet('ff00::', 8, 'ipv6');
// For NAT64 within a network (RFC 8215). Only the network knows where in such an address the IPv4 address is.
refused.addSubnet('64:ff9b:1::', 48, 'ipv6');
// Metadata and other services of AWS, Google Cloud, Oracle Cloud and Scaleway.
refused.addSubnet('fd00:ec2::', 32, 'ipv6');
refused.addAddress('fd20:ce::254', 'ipv6');
refused.addAddress('fd00:c1::a9fe:a9fe', 'ipv6');
refused.addAddress('fd00:42::42', 'ipv6');

/** Whether no provider is called at this IP address, unless the settings name the address itself. */
export function isRefusedAddress(address: string): boolean {
  const [plain = ''] = address.split('%');
  if (isIP(plain) === 4) return refused.check(plain);
  // A text that is no address cannot be checked, so it is refused.
  if (isIP(plain) === 0 || refused.check(plain, 'ipv6')) return true;
  return embeddedIpv4(plain).some((each) => refused.check(each));
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
