/** The bounds of a run in one mode. Sizes are bytes of UTF-8. */
export interface ModePolicy {
  readonly id: string;
  readonly allowedOutputKinds: readonly string[];
  readonly maxInputBytes: number;
  readonly maxOutputBytes: number;
  readonly toolPolicy: string;
  readonly allowNetwork: boolean;
  readonly allowSourceWrites: boolean;
  readonly reviewRequired: boolean;
  readonly traceRequired: boolean;
  readonly timeoutSeconds: number;
}

export const TOOL_POLICY = 'caller-owned';
export const MODE_DEFAULT = 'advisory';

type Bounds = Pick<ModePolicy, 'id' | 'maxInputBytes' | 'maxOutputBytes' | 'timeoutSeconds'> & {
  readonly outputKinds: readonly string[];
  readonly toolPolicy?: string;
};

const proposals = ['proposal', 'evidence'];

/** `autonomous` is a word of the contract without a policy, so a run in it is refused as one in an unknown mode. */
const bounds: readonly Bounds[] = [
  {
    id: 'mechanics',
    maxInputBytes: 32_768,
    maxOutputBytes: 65_536,
    timeoutSeconds: 60,
    outputKinds: ['evidence'],
  },
  {
    id: 'development',
    maxInputBytes: 65_536,
    maxOutputBytes: 131_072,
    timeoutSeconds: 120,
    outputKinds: proposals,
  },
  {
    id: MODE_DEFAULT,
    maxInputBytes: 65_536,
    maxOutputBytes: 131_072,
    timeoutSeconds: 120,
    outputKinds: proposals,
  },
  {
    id: 'research',
    maxInputBytes: 65_536,
    maxOutputBytes: 131_072,
    timeoutSeconds: 180,
    outputKinds: proposals,
    toolPolicy: 'provider-owned',
  },
  {
    id: 'review',
    maxInputBytes: 98_304,
    maxOutputBytes: 131_072,
    timeoutSeconds: 180,
    outputKinds: ['finding', 'evidence', 'question'],
  },
  {
    id: 'scaffold',
    maxInputBytes: 98_304,
    maxOutputBytes: 196_608,
    timeoutSeconds: 240,
    outputKinds: ['proposal', 'patch', 'artifact'],
  },
];

/** The policies of all modes for a provider that is part of the service, or for one over the network. */
export function modePolicies(isLocal: boolean): readonly ModePolicy[] {
  return bounds.map(({ outputKinds, toolPolicy = TOOL_POLICY, ...rest }) => ({
    ...rest,
    allowedOutputKinds: [...outputKinds],
    toolPolicy,
    allowNetwork: !isLocal,
    allowSourceWrites: false,
    reviewRequired: true,
    traceRequired: true,
  }));
}

/** The policy of a mode; `undefined` for a mode without one. */
export function modePolicyOf(mode: string, isLocal: boolean): ModePolicy | undefined {
  return modePolicies(isLocal).find(({ id }) => id === mode);
}
