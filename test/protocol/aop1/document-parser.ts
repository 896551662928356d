/** The parser that the document itself gives ("Parsing AOP Output"), as far as it goes: unanchored, and the first match counts. */

export interface ParsedByDocument {
  readonly task: string | null;
  readonly summary: string | null;
  readonly detailsFile: string | null;
  readonly metrics: Readonly<Record<string, string>>;
  readonly status: string;
  readonly start: string | null;
  readonly end: string | null;
}

export function parseByDocument(output: string): ParsedByDocument {
  const first = (pattern: RegExp): string | null => pattern.exec(output)?.[1] ?? null;
  const metrics: Record<string, string> = {};
  for (const pair of (first(/\[AOP:METRICS\]\s*(.+)/) ?? '').split(',')) {
    const [key, value] = pair.split(':').map((part) => part.trim());
    if (key && value) metrics[key] = value;
  }
  return {
    start: first(/\[AOP:START\]\s*(.+)/)?.trim() ?? null,
    task: first(/\[AOP:TASK\]\s*(.+)/)?.trim() ?? null,
    summary:
      first(/\[AOP:SUMMARY\]([\s\S]*?)\[AOP:/)
        ?.trim()
        .slice(0, 600) ?? null,
    detailsFile: first(/\[AOP:DETAILS_FILE\]\s*(\S+)/)?.trim() ?? null,
    metrics,
    status: first(/\[AOP:STATUS\]\s*(\w+)/)?.toLowerCase() ?? 'unknown',
    end: first(/\[AOP:END\]\s*(.+)/)?.trim() ?? null,
  };
}
