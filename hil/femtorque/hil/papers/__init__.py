"""Figures of papers, made again."""
