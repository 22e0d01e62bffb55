"""Answers of nodes, damaged in every way, given to the modules: whatever comes, they end with a result or one clear error."""
