"""Time: which mode it is, its step and seasonal periods, and the labels of the times that follow."""

from .axis import TimeAxis, continued, time_axis

__all__ = ["TimeAxis", "continued", "time_axis"]
