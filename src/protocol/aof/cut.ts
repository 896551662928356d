/** Lengths in characters as the schema counts them: code points, so that no pair is cut in half. */

export const fits = (text: string, most: number): boolean =>
  text.length <= most || (text.length <= most * 2 && [...text].length <= most);

/** The text itself where it fits, else its beginning, with a mark that something is missing. */
export const cut = (text: string, most: number): string =>
  fits(text, most) ? text : `${[...text.slice(0, most * 2)].slice(0, most - 1).join('')}…`;
