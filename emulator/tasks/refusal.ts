/** The gRPC codes with which a call can end here (grpc/grpc, doc/statuscodes.md). */
export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export type GrpcCodeName = keyof typeof grpcCodes;

/** A refused call and the reason. */
export class CallRefusal extends Error {
  override readonly name = 'CallRefusal';
  readonly code: number;

  constructor(code: GrpcCodeName, message: string) {
    super(message);
    this.code = grpcCodes[code];
  }
}

export function invalid(message: string): CallRefusal {
  return new CallRefusal('invalidArgument', message);
}
