"""One tick of the inverse dynamics as a graph of expressions: built, searched, judged in single precision, printed as
C."""
