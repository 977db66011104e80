"""Excel workbooks: a sheet for each section, real numbers, live sums."""
