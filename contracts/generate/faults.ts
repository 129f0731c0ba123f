/** The contract breaks rules: `faults` names each place and rule in one sentence. */
export class ContractFaults extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the contract has ${faults.length} fault(s):\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ContractFaults';
    this.faults = faults;
  }
}
