"""The verbs of the command line, one short function each."""
