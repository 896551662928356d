/** A finding in a message: returned, never thrown. */
import type { ErrorCode } from './errors.ts';

export type Severity = 'error' | 'warning';

export interface Problem {
  readonly severity: Severity;
  readonly code: ErrorCode;
  /** JSON Pointer (RFC 6901) into the message's value: where the field is, or where it would be. */
  readonly path: string;
  readonly message: string;
}

export type PathPart = string | number;

export const pointer = (parts: readonly PathPart[]): string =>
  parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export const error = (code: ErrorCode, path: string, message: string): Problem => ({
  severity: 'error',
  code,
  path,
  message,
});

export const warning = (code: ErrorCode, path: string, message: string): Problem => ({
  severity: 'warning',
  code,
  path,
  message,
});

export const hasError = (problems: readonly Problem[]): boolean => problems.some((p) => p.severity === 'error');
