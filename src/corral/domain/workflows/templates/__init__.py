"""Templates of workflows. To add one, write its module here and list its `WorkflowTemplate` in `registry`."""
