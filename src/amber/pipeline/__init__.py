"""Turn what agents recorded into memory: readers of transcripts, and the jobs that work on what they read."""
