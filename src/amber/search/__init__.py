"""Turn texts and questions into terms, plan what the index is asked, rank what it returns, and show the passage."""
