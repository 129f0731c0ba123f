import { kernelBase64 } from './generated/kernel.ts';

declare global {
  /** The part of WebAssembly that the kernel uses: the types of Node do not declare it. */
  namespace WebAssembly {
    class Memory {
      constructor(pages: { readonly initial: number; readonly maximum: number });
      readonly buffer: ArrayBuffer;
    }
    class Module {
      constructor(bytes: Uint8Array);
      readonly [Symbol.toStringTag]: string;
    }
    class Instance {
      constructor(module: Module, imports: object);
      readonly exports: Readonly<Record<string, unknown>>;
    }
  }
}

/** The functions of kernel.wat over one memory. Places are byte offsets. */
export interface Kernel {
  /** The dot products of one query with rows. */
  readonly dots: (query: number, rows: number, count: number, stride: number, out: number) => void;
  /** Which rows have a key that is not below `least`: writes their numbers and returns how many they are. */
  readonly reaching: (
    products: number,
    scales: number,
    residuals: number,
    norms: number,
    count: number,
    scale: number,
    factor: number,
    term: number,
    slope: number,
    base: number,
    square: number,
    share: number,
    least: number,
    out: number,
  ) => number;
}

let compiled: WebAssembly.Module | undefined;

/** The kernel over a memory. The code is compiled once in a process. */
export function kernelOver(memory: WebAssembly.Memory): Kernel {
  compiled ??= new WebAssembly.Module(Buffer.from(kernelBase64, 'base64'));
  return new WebAssembly.Instance(compiled, { region: { memory } }).exports as unknown as Kernel;
}
