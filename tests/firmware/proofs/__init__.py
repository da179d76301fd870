"""Proofs over the firmware's own sources: harnesses in firmware/proof, CBMC as the prover."""
