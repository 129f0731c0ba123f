export interface PythonFlavour {
  readonly isAsync: boolean;
  readonly operations: string;
  readonly client: string;
  readonly options: string;
  readonly pages: string;
  readonly streamed: string;
}
