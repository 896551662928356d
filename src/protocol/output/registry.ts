/** The node types that are known, with the fields that a node of the type should have. Projects add their own. */

export const NODE_TYPES: Readonly<Record<string, readonly string[]>> = {
  BugBrief: ['summary', 'reproduction_steps', 'expected_behavior', 'actual_behavior', 'acceptance_criteria'],
  FeatureBrief: ['summary', 'user_story', 'problem_statement', 'acceptance_criteria'],
  RefactorBrief: ['summary', 'scope', 'goal', 'success_criteria'],
  ResearchBrief: ['summary', 'research_question', 'methodology', 'expected_outcomes'],
  HypothesisBrief: ['summary', 'hypothesis_statement', 'test_methodology', 'success_criteria'],
  ArticleBrief: ['summary', 'target_audience', 'key_points', 'tone'],
  EditBrief: ['summary', 'edit_type', 'target_content', 'success_criteria'],
  ADR: ['title', 'context', 'decision', 'rationale'],
  Specification: ['component_name', 'purpose', 'interfaces'],
  Implementation: ['summary', 'code_changes', 'files_modified'],
  TestResults: ['test_suite', 'tests_passed', 'tests_failed', 'coverage_percentage'],
  Review: ['reviewed_item', 'review_type', 'findings', 'overall_status'],
  DesignSummary: ['key_decisions', 'architecture_overview', 'implementation_guidance'],
  ValidationSummary: ['validation_result', 'priority_score', 'key_findings', 'recommendation'],
  Uncertainty: ['uncertainty_source', 'question', 'context'],
  Approval: ['approved_item', 'approval_status', 'timestamp'],
  ExperimentBrief: ['summary'],
  SEOBrief: ['summary'],
  DataAnalysis: ['summary'],
  Findings: ['summary'],
  Report: ['summary'],
  DraftContent: ['summary'],
  EditedContent: ['summary'],
  PublishedContent: ['summary'],
};

/** The required fields of a type; null where the type is not registered. */
export const requiredFields = (nodeType: string): readonly string[] | null =>
  Object.hasOwn(NODE_TYPES, nodeType) ? (NODE_TYPES[nodeType] ?? null) : null;

export const isPascalCase = (name: string): boolean => /^[A-Z][A-Za-z0-9]*$/.test(name);
