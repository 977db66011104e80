"""Sizing: from a job and the rules to candidates and rejections, each with its trace."""

from planner.sizing.candidate import Candidate, Quantity, Rejection, SizedJob, Sizing, Step
from planner.sizing.sizer import Sizer

__all__ = ["Candidate", "Quantity", "Rejection", "SizedJob", "Sizer", "Sizing", "Step"]
