"""Two roles that learn against each other: leagues, health, curricula of levels, and best-response tests."""
