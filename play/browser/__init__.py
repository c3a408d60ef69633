"""What a browser is given: a page in one file, and arrays in a form that it reads."""
