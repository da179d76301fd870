"""Reproduction of papers' figures."""
