"""What every process of Corral uses: start, locks, heartbeats, private files."""
