/** Colour, only where a person sees it: on a terminal, unless NO_COLOR says otherwise (or FORCE_COLOR does). */

const { NO_COLOR, FORCE_COLOR } = process.env;
const on = FORCE_COLOR ? FORCE_COLOR !== '0' : process.stdout.isTTY === true && !NO_COLOR;

const paint =
  (open: number, close: number) =>
  (text: string): string =>
    on ? `\x1b[${open}m${text}\x1b[${close}m` : text;

export const bold = paint(1, 22);
export const dim = paint(2, 22);
export const red = paint(31, 39);
export const green = paint(32, 39);
export const yellow = paint(33, 39);
