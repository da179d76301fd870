"""Proofs over the unmodified sources of the firmware: harnesses in assurance/proofs/theorems, with CBMC as the prover.
"""
