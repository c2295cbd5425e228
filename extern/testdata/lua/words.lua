return {query = "SELECT 1"}
