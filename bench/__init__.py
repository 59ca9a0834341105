"""What Tenure is fast at, as ratios to something measured in the same run; see README.md."""
