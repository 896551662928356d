/** The options that every command takes. */
export interface Globals {
  readonly json: boolean;
}
