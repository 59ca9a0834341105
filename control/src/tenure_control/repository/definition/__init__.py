"""Projects, tasks and triggers: heads, immutable revisions, and the cursor of a trigger."""
