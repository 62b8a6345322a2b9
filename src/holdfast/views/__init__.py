"""Views read run folders; nothing in the loop imports them."""
