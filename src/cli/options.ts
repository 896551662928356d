/** Options that several commands take, and how their values are read. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { TASK_PRIORITIES } from '../core/task.ts';

/** Adds a command, with the options that all have, to the program or to a group of it. */
export type AddCommand = (name: string, description: string, group?: Command) => Command;

export function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('expected a name, got an empty text.');
  return value;
}

/** An option that may be given several times. */
export const repeated = (flags: string, description: string, choices?: readonly string[]): Option =>
  new Option(flags, `${description}; may be given again`).default([]).argParser((value: string, before: string[]) => {
    if (choices !== undefined && !choices.includes(value)) {
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
    }
    return [...before, notEmpty(value)];
  });

export const priorityOption = (): Option => new Option('--priority <priority>', 'how urgent').choices(TASK_PRIORITIES);

export const sessionOption = (description: string): Option =>
  new Option('--session <session>', description).argParser(notEmpty);

export const inSession = (): Option => sessionOption('where an external id is in several sessions: the one meant');

export function positive(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || number <= 0)
    throw new InvalidArgumentError('expected a number above 0.');
  return number;
}

export function whole(value: string): number {
  const number = positive(value);
  if (!Number.isInteger(number)) throw new InvalidArgumentError('expected a whole number.');
  return number;
}

export function wholeOrNone(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('expected a whole number, 0 or more.');
  return Number(value);
}
