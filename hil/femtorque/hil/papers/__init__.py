"""Reproduction of figures from papers."""
