/** The HTTP API, for `baton serve`. */
export { type ApiOptions, createApi } from './api.ts';
export { type Listening, listen } from './listen.ts';
export { createTokens, personToken, type Tokens, tokenFile } from './tokens.ts';
