"""Speed and memory beside peers, measured side by side in one run."""
