"""GitOps tools: who deploys a workload, from where, and which revisions when."""
