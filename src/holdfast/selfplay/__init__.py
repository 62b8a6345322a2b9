"""Two roles that learn against each other: leagues, health, curricula of levels, and results that can be certified."""
