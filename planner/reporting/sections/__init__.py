"""The library of sections: each is made here once, and documents are selections of them."""
