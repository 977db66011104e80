"""Sizing: from a job and the rules to candidates and rejections, each with its trace."""

from planner.sizing.candidate import Candidate, Rejection, SizedJob, Sizing
from planner.sizing.engine import DerivationStep, Quantity
from planner.sizing.sizer import Sizer

__all__ = ["Candidate", "DerivationStep", "Quantity", "Rejection", "SizedJob", "Sizer", "Sizing"]
