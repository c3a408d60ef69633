"""Pages for a browser: a page in one file, and arrays in a form that the browser reads."""
