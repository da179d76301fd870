"""Proofs over the firmware's own sources: harnesses in assurance/proofs/theorems, CBMC as the prover."""
