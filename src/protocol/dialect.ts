/** What the folder of a dialect gives to the rest: the contract of `<name>/dialect.ts`. The table (`dialects.ts`) says which parts it has. */
import type * as z from 'zod';
import type { Report } from '../core/report.ts';
import type { TaskType } from './aop1/limits.ts';
import type { DIALECT_TABLE, DialectName } from './dialects.ts';
import type { Message } from './message.ts';

/** What a message reports. */
export interface Said {
  readonly report: Report;
  /** What the message says beside it, by its place. */
  readonly unreported: readonly string[];
}

export interface WrittenReport {
  readonly output: unknown;
  /** What the dialect has no words for, by the names of the Report's fields. */
  readonly lost: readonly string[];
}

export interface WriteContext {
  readonly now: string;
  readonly taskType?: TaskType;
}

interface Reports {
  /** Of a valid message of the kind that the table names; `all` is the text that it stands in. Null where it says nothing. */
  read(message: Message, all: readonly Message[]): Said | null;
  write(report: Report, context: WriteContext): WrittenReport;
}

/** An object that says that it is ours, and its text as it was received. */
type DecodeJson = (value: Record<string, unknown>, received: string) => Message;
/** What stands behind the mark and is no JSON object. */
type DecodeBroken = (received: string) => Message;

type Row<N extends DialectName> = (typeof DIALECT_TABLE)[N];

/** What the table does not say is null, what it says is there: the compiler sees to both. */
export interface DialectParts<N extends DialectName> {
  /** Its types of messages, by the names that `baton schema` takes. */
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  readonly json: Row<N>['json'] extends null ? null : DecodeJson;
  readonly broken: Row<N>['mark'] extends null ? null : DecodeBroken;
  readonly report: Row<N>['report'] extends null ? null : Reports;
}
