"""What the finished model can do: write text, and talk."""
