/** How a question that was escalated is told from others: by the beginning of its key. An answer to one is no answer to the next. */
export const ESCALATED = 'escalated|';

export const isEscalation = ({ key }: { readonly key: string }): boolean => key.startsWith(ESCALATED);
