/** The options that every command takes. */
export interface Globals {
  readonly json: boolean;
  /** The data folder, where one is named. */
  readonly dir?: string;
}

/** Of commands that take an id: the session in which an external id is looked for. */
export interface InSession extends Globals {
  readonly session?: string;
}
