import { type AddressInfo, Server } from 'node:net';

/** Loaded before a program that says the port that it was given: says the port that it got, where it was given 0. */
const listen = Reflect.get(Server.prototype, 'listen') as (...given: unknown[]) => Server;
Server.prototype.listen = function (this: Server, ...given: unknown[]) {
  this.once('listening', () => console.log(`port ${(this.address() as AddressInfo).port}`));
  return Reflect.apply(listen, this, given);
};
