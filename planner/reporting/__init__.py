"""Shows plans, sizings and facts; it computes no more than sums of what it shows."""
