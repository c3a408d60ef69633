"""What makes the book: figures, numbers, transcripts and formulas, put into its pages when mdBook builds it."""
