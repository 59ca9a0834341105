"""Workflow runs that are not finished."""
