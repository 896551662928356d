/** An escalated question is recognised by the beginning of its key. An answer to one does not answer the next. */
export const ESCALATED = 'escalated|';

export const isEscalation = ({ key }: { readonly key: string }): boolean => key.startsWith(ESCALATED);
