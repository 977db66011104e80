"""Rules as data: formulas, the facts that they ask for, and the book of all of them."""
