/** How a route is written down: what it takes, what it answers, and who may. The app and `/openapi.json` are both made of these. */
import type * as z from 'zod';
import type { Api, Call } from './call.ts';

export interface Route {
  readonly method: 'get' | 'post' | 'patch';
  /** With `:name` for its parameters. */
  readonly path: string;
  readonly summary: string;
  /** `anybody`: no token. `run`: a run may, within its own reach. `person`: a run may not. */
  readonly access: 'anybody' | 'run' | 'person';
  readonly query?: z.ZodObject;
  /** By content type; null where any text will do. */
  readonly takes?: Readonly<Record<string, z.ZodType | null>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** By content type; null where it is a text. */
  readonly answers: Readonly<Record<string, z.ZodType | null>>;
  handle(api: Api, call: Call): Promise<Response> | Response;
}

export const JSON_TYPE = 'application/json';
export const LINES_TYPE = 'application/x-ndjson';
export const TEXT_TYPE = 'text/plain; charset=utf-8';
export const SSE_TYPE = 'text/event-stream';
