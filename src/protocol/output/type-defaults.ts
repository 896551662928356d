/** What goes without saying about a node's type: its domain, the type of its output, and the stage that usually comes next (document, "Examples by Domain"). */
import type { Output } from './schema.ts';

type OutputType = Output['_meta']['output_type'];

const DOMAINS: Readonly<Record<string, readonly string[]>> = {
  'software-development': [
    'BugBrief',
    'FeatureBrief',
    'RefactorBrief',
    'ADR',
    'Specification',
    'Implementation',
    'TestResults',
    'Review',
    'DesignSummary',
  ],
  research: [
    'ResearchBrief',
    'HypothesisBrief',
    'ExperimentBrief',
    'DataAnalysis',
    'Findings',
    'Report',
    'ValidationSummary',
  ],
  content: ['ArticleBrief', 'EditBrief', 'SEOBrief', 'DraftContent', 'EditedContent', 'PublishedContent'],
};

export const domainOf = (type: string): string =>
  Object.entries(DOMAINS).find(([, types]) => types.includes(type))?.[0] ?? 'custom';

const OUTPUTS: Readonly<Record<string, OutputType>> = {
  ADR: 'specification',
  Specification: 'specification',
  DesignSummary: 'specification',
  Implementation: 'implementation',
  DraftContent: 'implementation',
  EditedContent: 'implementation',
  PublishedContent: 'implementation',
  TestResults: 'review',
  Review: 'review',
  ValidationSummary: 'review',
  Uncertainty: 'uncertainty',
  Approval: 'approval',
};

export const outputTypeOf = (type: string): OutputType =>
  Object.hasOwn(OUTPUTS, type) ? (OUTPUTS[type] as OutputType) : type.endsWith('Brief') ? 'brief' : 'analysis';

const STAGES: Readonly<Record<string, string>> = {
  BugBrief: 'implementation-triad',
  FeatureBrief: 'implementation-triad',
  RefactorBrief: 'implementation-triad',
  ADR: 'design-bridge',
  Specification: 'design-bridge',
  DesignSummary: 'implementation-triad',
  Implementation: 'test-engineer',
  ResearchBrief: 'research-analyst',
  HypothesisBrief: 'research-analyst',
  ExperimentBrief: 'research-analyst',
  DataAnalysis: 'research-analyst',
  Findings: 'validation-synthesizer',
  ArticleBrief: 'content-writer',
  SEOBrief: 'content-writer',
  EditBrief: 'editor',
  DraftContent: 'editor',
  Approval: 'implementation-triad',
};

/** A person, where nothing usually follows. */
export const nextStageOf = (type: string): string => (Object.hasOwn(STAGES, type) ? (STAGES[type] as string) : 'user');
