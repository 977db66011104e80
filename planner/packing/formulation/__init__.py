"""The program that counts nodes: its rows, kind by kind, and the exact test of each."""
