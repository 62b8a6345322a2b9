"""The smallest complete world, meant to be copied: walk a track of eight cells to the marked one."""
