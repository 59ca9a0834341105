"""The lease protocol against a reference model of it: any calls in any order, compared after each."""
