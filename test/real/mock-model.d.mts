/** The scripted model, for the tests that are typed. `mock-model.mjs` tells what a script is. */
export interface MockRequest {
  readonly path: string;
  readonly script?: string;
  readonly status?: number;
  readonly aux?: boolean;
  readonly prompt?: string;
  readonly auth?: boolean;
}

export interface MockModel {
  readonly url: string;
  readonly port: number;
  readonly requests: MockRequest[];
  close(): Promise<void>;
}

export const builtinScripts: Readonly<Record<string, { readonly steps: readonly object[] }>>;

export function startMockModel(options?: {
  readonly port?: number;
  readonly scripts?: Readonly<Record<string, { readonly steps: readonly object[]; readonly when?: readonly string[] }>>;
  readonly log?: string | null;
  readonly bodies?: string | null;
  readonly onRequest?: ((request: MockRequest) => void) | null;
}): Promise<MockModel>;
